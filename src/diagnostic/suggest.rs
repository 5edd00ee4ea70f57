//! "Did you mean": the name nearest to a misspelt one.

/// The candidate nearest to `wanted`, if one is near enough to be meant: one
/// slip (a letter missing, added, changed, or two swapped) for every three
/// letters, at least one. Of equally near ones the first.
pub fn nearest<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = wanted.chars().count();
    let most = (length / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most && *candidate != wanted)
        .map(|candidate| (strsim::osa_distance(wanted, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= most && distance < candidate.chars().count())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}
