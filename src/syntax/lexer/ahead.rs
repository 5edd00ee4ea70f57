//! Lexing ahead: the pieces of a long source, on a thread of their own.

use super::raw::RawPieces;
use crate::process::{self, OfProcess};
use crate::source::{Source, Span};
use crate::syntax::token::{FaultKind, RawTokens};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// Sources of which at least this many bytes are left are lexed ahead.
const LONG: usize = 256 << 10;

/// The fewest tokens of a piece that is lexed ahead.
const PIECE: usize = 1 << 13;

/// How many pieces may wait for the parser.
const WAITING: usize = 2;

/// How long the next piece is waited for before a request to stop is looked for.
const PAUSE: Duration = Duration::from_millis(5);

/// Who lexes the pieces of a source.
pub(super) enum Ahead {
    /// Nothing has been lexed.
    NotYet,
    /// The thread that parses them.
    Never,
    /// A thread of its own.
    Running(OfProcess<Receiver<RawTokens>>),
}

impl Ahead {
    /// Starts a thread that lexes the rest of a source, if nothing has been lexed, that is
    /// long, and the system has one.
    pub(super) fn start(&mut self, pieces: &RawPieces<'_>, source: &Source) {
        let offset = pieces.offset();
        if !matches!(self, Self::NotYet) {
            return;
        }
        *self = Self::Never;
        if source.text().len().saturating_sub(offset) < LONG {
            return;
        }
        let ((pieces, next), source) = (sync_channel(WAITING), source.clone());
        let lex = move || {
            let mut lexed = RawPieces::new(&source);
            lexed.size = PIECE;
            lexed.skip_to(offset as u32);
            // The other end is dropped when nothing more is read.
            while let Some(piece) = lexed.next()
                && pieces.send(piece).is_ok()
            {}
        };
        if process::spawn(Builder::new().name("kal lexer".into()), lex).is_ok() {
            *self = Self::Running(OfProcess::new(next));
        }
    }

    /// Returns the next piece, or a mistake if it is not to be waited for; `None` if it is to
    /// be lexed here, as the next of `here`: also in a child of the process whose thread lexes
    /// them.
    pub(super) fn piece(&mut self, here: &RawPieces<'_>) -> Option<RawTokens> {
        let Self::Running(next) = self else { return None };
        while let Some(next) = next.get() {
            if let Some(request) = here.poll.request() {
                let mut stopped = RawTokens::default();
                let place = here.offset() as u32;
                stopped.push_end(FaultKind::Stopped(request), Span { start: place, end: place });
                return Some(stopped);
            }
            match next.recv_timeout(PAUSE) {
                Ok(piece) => return Some(piece),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        *self = Self::Never;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LONGEST_SOURCE, Pieces, lex};
    use super::*;
    use crate::name::Names;
    use crate::stop::Poll;
    use crate::syntax::token::{Terminal, Tokens};
    use std::time::Instant;

    /// Returns a long program whose pieces end in all ways.
    fn source() -> Source {
        let item = |n: usize| match n % 5 {
            0 => format!("def größe{n}(x y) x + y * {n}.5 # é\n"),
            1 => format!("größe{}(1, {n});", n - 1),
            2 => format!("extern sin(x); 12ab{n}\n"),
            3 => format!("var v{n} = \"text {n}\" : 2\n"),
            _ => format!("“v{} + 1 ;", n - 1),
        };
        Source::new("test", (0..20_000).map(item).collect::<String>())
    }

    fn pieces<'s>(source: &'s Source, names: &'s Names) -> Pieces<'s> {
        Pieces::new(source, names, LONGEST_SOURCE).expect("it is not too long")
    }

    /// Returns the tokens of pieces, but for those that are read again, with what is wrong.
    fn all(pieces: impl Iterator<Item = Tokens>) -> Vec<(Terminal, Span, Option<String>, usize)> {
        let mut all = Vec::new();
        for piece in pieces {
            for token in 0..piece.len() - piece.lookahead {
                let terminal = piece.terminals()[token];
                let name = terminal.has_word().then(|| piece.name(token));
                let text = name.map(|_| piece.text(token).to_owned());
                let wrong = piece.diagnostics(token..token + 1).count();
                all.push((terminal, piece.span(token), text, wrong));
            }
        }
        all
    }

    #[test]
    fn a_source_has_the_same_tokens_whoever_lexes_it() {
        let (source, names) = (source(), Names::new());
        assert!(source.text().len() > LONG);
        let expected = all(std::iter::once(lex(&source, &names).expect("it is not too long")));
        let mut ahead = pieces(&source, &names);
        let first = ahead.next().expect("there is one");
        assert!(matches!(ahead.ahead, Ahead::Running(_)));
        assert!(all(std::iter::once(first).chain(ahead)) == expected);
        // As in a child of the process, from some piece on.
        for lost in [0, 1, 3, 5] {
            let mut ahead = pieces(&source, &names);
            let mut before: Vec<_> = ahead.by_ref().take(lost).collect();
            ahead.ahead = Ahead::Never;
            before.extend(ahead);
            assert!(all(before.into_iter()) == expected, "{lost}");
        }
        let from = expected.iter().position(|(_, span, ..)| span.start >= 30_000).expect("it is long");
        let mut later = pieces(&source, &names);
        later.skip_to(expected[from].1.start);
        assert!(all(later) == expected[from..]);
    }

    #[test]
    fn one_name_too_many_ends_it_at_the_same_token() {
        let source = source();
        for most in [3, 1000, 9000] {
            let expected = all(std::iter::once(lex(&source, &Names::limited(most)).expect("it is lexed")));
            assert!(expected.len() < 150_000 && expected.last().is_some_and(|last| last.3 == 1));
            // All are kept, so that no name is free again.
            let ahead: Vec<_> = pieces(&source, &Names::limited(most)).collect();
            assert!(all(ahead.into_iter()) == expected, "{most}");
        }
    }

    #[test]
    fn it_stops_when_it_is_asked_to() {
        let (source, names) = (source(), Names::new());
        let late = Poll::until(Some(Instant::now()));
        let tokens: Vec<_> = pieces(&source, &names).polled(&late).collect();
        assert_eq!(tokens.len(), 1);
        assert!(tokens[0].len() == 1 && tokens[0].is_unread(0));
    }
}
