//! "Did you mean": the name nearest to a misspelt one.

/// The candidate nearest to `wanted`, if one is near enough to be meant: one
/// slip (a letter missing, added, changed, or two swapped) for every three
/// letters, at least one. Of equally near ones, one that begins with `wanted`,
/// otherwise the first.
pub fn nearest<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = wanted.chars().count();
    let most = (length / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most && *candidate != wanted)
        .map(|candidate| (strsim::osa_distance(wanted, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= most && distance < candidate.chars().count())
        .min_by_key(|&(distance, candidate)| (distance, !candidate.starts_with(wanted)))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let keywords = ["def", "extern", "then", "else", "unary"];
        assert_eq!(nearest("dfe", keywords), Some("def"));
        assert_eq!(nearest("els", keywords), Some("else"));
        assert_eq!(nearest("the", keywords), Some("then"));
        assert_eq!(nearest("exten", keywords), Some("extern"));
        assert_eq!(nearest("foo", keywords), None);
        assert_eq!(nearest("x", ["y"]), None, "one letter for another is another name");
        assert_eq!(nearest("fibonaci", ["fibs", "fibonacci"]), Some("fibonacci"));
        assert_eq!(nearest("print", ["rint", "printd"]), Some("printd"));
        assert_eq!(nearest("same", ["same"]), None);
        assert_eq!(nearest("", ["a"]), None);
    }
}
