//! Packs are what was written, or refused.

use super::links::LinkedSymbol;
use super::testing::{KEY, body, damaged_packs, identity, origin, pack, sign};
use super::*;
use crate::runtime::Slot;
use crate::tier::Tier;

fn open(bytes: &[u8]) -> Result<Pack, Damage> {
    Pack::open(bytes.to_vec(), identity(99), &KEY)
}

#[test]
fn what_was_written_is_found() {
    let pack = open(&pack()).expect("it is whole");
    for number in 0..20 {
        let found = pack.find(&identity(number.into())).expect("it is there");
        assert_eq!(found.portable(), Some((body(number), origin(number))));
    }
    assert!(pack.find(&identity(20)).is_none());
    assert_eq!((pack.len(), pack.bodies().count(), pack.origins().len()), (20, 20, 20));
}

#[test]
fn links_lead_to_bodies_where_what_they_assume_holds() {
    let pack = open(&pack()).expect("it is whole");
    assert!(pack.links(&identity(78)).is_none());
    let links = pack.links(&identity(77)).expect("it has them");
    assert_eq!((links.target_count(), links.target(0), links.target(10)), (10, Some(("f0", 2)), None));
    for (name, expected) in [("f3", Some((3, 2))), ("f", None), ("f33", None), ("g", None), ("", None)] {
        assert_eq!(links.targets_of(name).collect::<Vec<_>>(), Vec::from_iter(expected), "{name}");
    }
    let symbols: Vec<_> = (0..4).map(|number| links.symbol(number)).collect();
    let others = ["größe$variable", "fmod"].map(|symbol| Some(LinkedSymbol::Other(symbol)));
    assert_eq!(symbols, [others[0], others[1], Some(LinkedSymbol::Slot(3)), None]);
    for changed in [3, 33] {
        let unchanged = links.unchanged(|item| item == changed);
        let items: Vec<_> = unchanged.filter_map(|link| Some(links.link(link)?.item)).collect();
        let others: Vec<_> = (0..10).filter(|item| *item != 3).flat_map(|item| [item; 2]).collect();
        assert_eq!(items, others);
    }
    let linked: Vec<_> = links.unchanged(|_| false).filter_map(|number| links.link(number)).collect();
    assert_eq!(linked.len(), 20);
    for (place, link) in linked.into_iter().enumerate() {
        // Of a definition that has both, the better code comes first.
        let (tier, number) = if place % 2 == 0 { (Tier::Full, place + 1) } else { (Tier::Quick, place - 1) };
        let item = place as u32 / 2;
        assert_eq!((link.item, link.target, link.tier), (item, item, tier));
        let (found, code) = links.body(link.body).expect("it is there");
        assert_eq!(found, identity(number as u32));
        // As it is where each target has the slot of its own number.
        let mut expected = body(number as u8).bytes;
        expected[4..8].copy_from_slice(&(Slot(3).offset() as u32 - 4).to_le_bytes());
        assert_eq!(code.code().as_deref(), Some(&expected[..]));
        let filled = |have_their_numbers| Some(code.numbered_fields(have_their_numbers)?.count());
        assert_eq!((filled(true), filled(false)), (Some(2), Some(3)));
    }
}

#[test]
fn whatever_is_changed_or_cut_off_is_refused() {
    let bytes = pack();
    let original = open(&bytes).expect("it is whole");
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        if original.sections[SectionKind::Origins as usize - 1].contains(&at) {
            let pack = open(&changed).expect("its code is whole");
            assert!(!pack.has_origins() && pack.origins().is_empty(), "byte {at}");
        } else {
            assert!(open(&changed).is_err(), "byte {at}");
        }
        assert!(open(&bytes[..at]).is_err(), "{at} bytes");
    }
    let error = |target, key: u8| Pack::open(bytes.clone(), identity(target), &[key; 32]).err();
    assert_eq!(error(98, 7).map(|error| error.what), Some("made for another processor"));
    assert_eq!(error(99, 8).map(|error| error.what), Some("made with another key, or damaged"));
}

/// What is large stays in the file, and is checked as the rest is.
#[test]
fn packs_are_read_from_files_as_from_memory() {
    let long: Vec<u8> = (0..1_100_000_u32).map(|at| (at / 3) as u8).collect();
    let mut large = PortableCode { bytes: long[..300_000].to_vec(), ..body(3) };
    large.bytes[4..8].fill(0);
    let made = body(3);
    let written = |code: &PortableCode, text: &[u8]| {
        let origin = origin(3);
        let bodies = vec![(identity(3), code, &origin)];
        to_bytes(PackContents { bodies, text, links: None, meta: b"{}" }, identity(99), &KEY)
    };
    let open_known = |bytes: &[u8], key, is_enough, is_known| {
        let (size, bytes) = (bytes.len() as u64, bytes.to_vec());
        let read = move |buffer: &mut [u8], at: u64| {
            let at = usize::try_from(at).ok()?;
            buffer.copy_from_slice(bytes.get(at..at.checked_add(buffer.len())?)?);
            Some(())
        };
        let file = PackInput { read: Box::new(read), size, is_known };
        Pack::open_file(file, identity(99), key, is_enough).map(Arc::new)
    };
    let open = |bytes: &[u8], key, is_enough| open_known(bytes, key, is_enough, false);
    let all = [
        (pack(), &b"a text"[..], false, false),
        (written(&made, &long), &long, false, true),
        (written(&made, &long[..300_000]), &long[..300_000], false, true),
        (written(&large, &long), &long, true, true),
        (written(&large, b"a text"), b"a text", true, true),
        (written(&large, b""), b"", true, false),
    ];
    for (bytes, expected_text, has_code_in_file, has_text_in_file) in all {
        let text_of = |pack: &Arc<Pack>| pack.text().and_then(|text| text.all()).unwrap_or_default();
        let pack = open(&bytes, Some(&KEY), false).expect("it is whole");
        assert!(text_of(&pack) == expected_text && pack.has_origins() && pack.size() == bytes.len());
        let in_file = &pack.in_file;
        assert_eq!(in_file.code.is_some(), has_code_in_file);
        assert_eq!(in_file.text.is_some(), has_text_in_file);
        assert_eq!(in_file.fields.is_some(), has_code_in_file);
        assert_eq!(in_file.origins.is_some(), has_code_in_file);
        let expected = if has_code_in_file { &large } else { &made };
        let found = |pack: &Arc<Pack>| pack.find(&identity(3)).and_then(|body| body.portable());
        assert_eq!(found(&pack), Some((expected.clone(), origin(3))));
        let mut code = vec![0; pack.code_len()];
        let body = pack.find(&identity(3)).expect("it is there");
        assert!(pack.copy_code(&mut code) && Some(&code[body.place()]) == body.code().as_deref());
        assert!(open(&bytes, Some(&[8; 32]), false).is_err());
        let without_code = open(&bytes, Some(&[8; 32]), true).expect("its items will do");
        assert_eq!((without_code.is_trusted(), without_code.len()), (false, 0));
        assert!(text_of(&without_code) == expected_text);
        let late = [SectionKind::Fields, SectionKind::Origins, SectionKind::Code, SectionKind::Text];
        let [fields, origins, code, text] = late.map(|kind| {
            let head = PackHead::read(&bytes, identity(99)).expect("it is whole");
            head.range(kind).expect("it is there")
        });
        let places = (0..bytes.len()).step_by(if bytes.len() > 100_000 { 997 } else { 1 });
        for at in places.chain(fields.clone()).chain(origins.clone()) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            let is_of_body = code.contains(&at) || fields.contains(&at);
            let is_late = origins.contains(&at) || has_code_in_file && is_of_body;
            let opened = open(&changed, Some(&KEY), false);
            assert_eq!(opened.is_ok(), is_late, "byte {at}");
            if let Ok(pack) = opened {
                assert_eq!(pack.has_origins(), is_of_body, "byte {at}");
                assert!(!is_of_body || found(&pack).is_none(), "byte {at}");
                let is_of_code = code.contains(&at);
                assert_eq!(pack.copy_code(&mut vec![0; code.len()]), !is_of_code, "byte {at}");
                assert!(!pack.is_whole(), "byte {at}");
            }
            assert!(open(&bytes[..at], Some(&KEY), false).is_err(), "{at} bytes");
            // Where the text is known to be whole, what is used of it is checked.
            let opened = open_known(&changed, Some(&KEY), false, true);
            let is_used_late = is_late || has_text_in_file && text.contains(&at);
            assert_eq!(opened.is_ok(), is_used_late, "byte {at}");
            if let Ok(pack) = opened {
                let is_of_text = text.contains(&at);
                let all = pack.text().map_or(Some(Vec::new()), |text| text.all());
                assert_eq!(all.is_none(), is_of_text, "byte {at}");
                assert!(!pack.is_whole(), "byte {at}");
            }
        }
        let known = open_known(&bytes, Some(&KEY), false, true).expect("it is whole");
        assert!(text_of(&known) == expected_text && known.is_whole());
    }
}

/// A pack whose hashes and MAC are right, but not its contents, is no danger.
#[test]
fn forged_contents_are_found_out_when_they_are_used() {
    let bytes = pack();
    for at in 0..bytes.len() as u16 {
        let [low, high] = at.to_le_bytes();
        (0..8).for_each(|bit| damaged_packs(&[low, high, 1, bit]));
    }
    let mut signed = bytes.clone();
    sign(&mut signed);
    assert_eq!(signed, bytes);
}

/// Several changes at once, as many times as `KAL_PACKS` says.
#[test]
fn packs_that_are_damaged_at_random_are_no_danger() {
    let times = std::env::var("KAL_PACKS").ok().and_then(|times| times.parse().ok()).unwrap_or(3_000);
    for number in 0..times {
        let random = identity(number);
        let length = 4 * (1 + usize::from(random.as_bytes()[31]) % 7);
        damaged_packs(&random.as_bytes()[..length]);
    }
}
