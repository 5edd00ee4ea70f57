//! Changed texts: what is as it was is taken from what an earlier run has checked of an
//! earlier text of the file.
//!
//! Texts are compared item by item, by hashes. In the opening, a definition may be another
//! one of the same name with the same parameters: whatever the reading of other items asked
//! has the same answers then. An expression may be another one, too. After the opening, the
//! first item that is not the same ends what is taken; the rest is read as ever.

use super::stored::{StoredEnvironment, StoredItem, StoredText, TextEdit, hash_of};
use crate::bytes::{SharedParts, Writer};
use crate::fingerprint::Fingerprint;
use crate::sema::CheckedItem;
use crate::source::Source;
use std::sync::Arc;

/// The most definitions that are other ones.
const MOST_CHANGED: usize = 64;

/// A text that is compared with an earlier one.
pub struct EditedText {
    text: StoredText,
    source: Source,
}

impl EditedText {
    /// Begins to compare a text with one that an earlier run has checked; `None` if that is
    /// damaged, or not one to compare with.
    pub fn new(bytes: SharedParts, source: &Source, environment: &Arc<StoredEnvironment>) -> Option<Self> {
        let mut text = StoredText::new(bytes, source, environment).ok()?;
        let is_comparable = !text.opening().is_empty() && text.hash(0).is_some();
        text.edit = Some(TextEdit::default());
        is_comparable.then(|| Self { text, source: source.clone() })
    }

    /// Returns what is known of the text so far.
    pub fn text(&self) -> &StoredText {
        &self.text
    }

    /// Returns how many definitions are other ones.
    pub fn changed(&self) -> usize {
        self.text.edit.as_ref().map_or(0, |edit| edit.items.len())
    }

    /// Goes past items that are the same, beginning with one. Returns the number of the
    /// first that is not, which is the number of items if there is none; `None` if the
    /// earlier text is damaged.
    pub fn compare(&mut self, from: usize) -> Option<usize> {
        self.compare_until(from, self.text.len())
    }

    fn compare_until(&mut self, from: usize, until: usize) -> Option<usize> {
        let mut start = self.text.start(from).ok()?;
        for number in from..until {
            let before = if number == 0 { 0 } else { self.text.stored_end(number - 1).ok()? };
            let end = self.text.stored_end(number).ok()?;
            let present = start.checked_add(end.checked_sub(before)?)?;
            if self.text.hash(number)? != hash_of(&self.source, start..present) {
                return Some(number);
            }
            let shift = present.wrapping_sub(end);
            let edit = self.text.edit.as_mut()?;
            if edit.shifts.last().map_or(0, |(_, last)| *last) != shift {
                edit.shifts.push((number, shift));
            }
            start = present;
        }
        Some(until)
    }

    /// Takes another item for one of the opening, of which `others` are no definitions; `None` if it
    /// may mean something else for the rest of the text.
    pub fn replace(
        &mut self,
        number: usize,
        read: StoredItem,
        others: &[usize],
        largest: usize,
    ) -> Option<()> {
        let is_known = self.text.edit.as_ref()?.items.contains_key(&number);
        if is_known || self.changed() >= MOST_CHANGED {
            return None;
        }
        let place = others.partition_point(|other| *other < number);
        let is_other = others.get(place) == Some(&number);
        // What runs next finds what is defined until then.
        let (function, runs) = match &read.item {
            CheckedItem::Definition(function, None) if !is_other => {
                (function, others.get(place).copied().unwrap_or(self.text.opening().end))
            }
            CheckedItem::Expression(function) | CheckedItem::Effect(function) if is_other => {
                let stored = self.text.checked_item(number).ok()?;
                let is_same = matches!(stored, CheckedItem::Expression(_) | CheckedItem::Effect(_));
                (function, is_same.then_some(number)?)
            }
            _ => return None,
        };
        if function.takes_or_gives(self.text.names()) || function.nodes.len() > largest {
            return None;
        }
        let is_same = || {
            let (arity, _) = self.text.size_of(number)?;
            Some(self.text.name(number)?.name() == function.name && function.arity() == arity)
        };
        if !is_other && is_same() != Some(true) {
            return None;
        }
        let mut calls = Vec::new();
        for callee in &function.callees {
            match self.text.find(&self.text.names().text(callee.name)) {
                Some(item) if item >= runs || self.text.size_of(item)?.0 != callee.arity => return None,
                Some(_) => {}
                None => calls.push(callee.name),
            }
        }
        let edit = self.text.edit.as_mut()?;
        edit.calls.extend(calls);
        edit.items.insert(number, read);
        Some(())
    }

    /// Ends what is taken before an item.
    pub fn cut(&mut self, at: usize) {
        self.text.items = at;
        self.text.edit.iter_mut().for_each(|edit| edit.is_cut = true);
    }

    /// Returns the text as far as the opening, if all before that is the same; `None` if
    /// that is not so.
    pub fn before_opening(mut self) -> Option<StoredText> {
        let start = self.text.opening().start;
        if self.compare_until(0, start)? < start {
            return None;
        }
        self.text.edit = Some(TextEdit::default());
        self.cut(start);
        Some(self.text)
    }

    /// Returns the text; `None` if what it is part of is damaged.
    pub fn finish(mut self) -> Option<StoredText> {
        let mut writer = Writer::default();
        writer.bytes(self.text.stored_identity()?.as_bytes());
        writer.bytes(self.source.text().as_bytes());
        self.text.edit.as_mut()?.identity = Some(Fingerprint::of("kal 2026 edited text", writer));
        Some(self.text)
    }
}
