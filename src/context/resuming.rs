//! Saving a context, and going on with it in another process.

use super::script::Script;
use super::{Context, Error};
use crate::diagnostic::Diagnostic;
use crate::host::RandomNumbers;
use crate::saved_session::{self, SavedSession, SavedValues};
use crate::source::Source;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// A context as bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Saved {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Why there is no code in them, for people; `None` if there is all that was compiled.
    pub without_code: Option<String>,
    /// The names of the functions that are left out, since they use operators that are not
    /// defined any more. Their texts are comments of the script in the bytes.
    pub left_out: Vec<String>,
}

/// What has become of a saved context in the one that resumes it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Resumed {
    /// Why the code in the session is not used, for people: its script was read, and what it
    /// calls is compiled again. `None` if the code is used, or there is none, or no
    /// [cache](crate::Config::cache).
    pub without_code: Option<String>,
    /// Why items of its script are left out: the file of a module that it imports is gone or has
    /// changed. The session that was saved still has them.
    pub left_out: Vec<Diagnostic>,
}

impl Context {
    /// Returns the context as bytes: what is defined, with the operators that it was read
    /// with, the values of the variables, the imports, and the code of what was compiled,
    /// which needs [`Config::keep_code`](crate::Config::keep_code) and a
    /// [cache](crate::Config::cache). [`resume`](Self::resume) goes on with it, in this
    /// process or another.
    ///
    /// Breakpoints, steps of [`undo`](Self::undo), limits and what belongs to the host are
    /// not in it. Code is signed with the user's secret; other users, and other builds of
    /// Kal, run the script that is in the bytes as well.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// use kal::{CacheOptions, Config, Engine};
    ///
    /// let cache = CacheOptions::new(folder.join("cache"), folder.join("key"));
    /// let config = || Config::new().cache(cache.clone()).keep_code(true);
    /// let mut context = Engine::with_config(config())?.context()?;
    /// context.eval("var calls = 0; def cube(x) calls += 1 : x * x * x; cube(2)")?;
    /// let saved = context.save()?;
    ///
    /// // In another process:
    /// let mut context = Engine::with_config(config())?.context()?;
    /// context.resume("work", &saved.bytes)?;
    /// assert_eq!(context.call("cube", &[3.0])?, 27.0);
    /// assert_eq!(context.variable("calls")?, 2.0);
    /// assert_eq!(context.stats().ir_generated, 0); // nothing was compiled
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the script is refused, for instance since a module that it
    /// imports has changed, and [`Error::NoMemory`].
    pub fn save(&self) -> Result<Saved, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // Other threads may save contexts of the same engine.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let Script { text, left_out } = self.whole_script(&[]);
        let script = Source::new(format!("<session {number}>"), text);
        let values =
            SavedValues { variables: self.variable_bits(), random: self.outside.state.random.state() };
        // Reading it again is what shows that it can be resumed.
        let mut copy = Self::new(&self.engine, self.front_end)?;
        self.engine.begin_session(&script);
        let mut bytes = saved_session::beginning(script.text(), &values);
        let packed = copy.run_all(&script).map(|()| {
            let functions: Vec<_> = self.world.functions().cloned().collect();
            self.engine.pack_session(&script, &functions, &mut bytes)
        });
        self.engine.end_session(&script);
        Ok(Saved { without_code: packed?.err(), bytes, left_out })
    }

    /// Goes on with a context that was [saved](Self::save): defines, declares and imports
    /// what it did, with the values of its variables. What this context had defined stays,
    /// unless it is redefined. `name` is that of the session in messages.
    ///
    /// In a new context that compiles lazily nothing is read and nothing compiled, if this
    /// build has made the session for this user and processor. Otherwise its script runs;
    /// the result says why. Items that are refused, such as the import of a module whose file
    /// is gone, are left out, and the result says which.
    ///
    /// # Errors
    /// [`Error::DamagedSession`] for bytes that are no session, without effect;
    /// [`Error::Failed`] and others if the script is stopped, or a limit reached. Items before
    /// stay in effect.
    pub fn resume(&mut self, name: &str, bytes: &[u8]) -> Result<Resumed, Error> {
        let SavedSession { script, values, pack } =
            SavedSession::from_bytes(bytes).map_err(Error::DamagedSession)?;
        let script = Source::new(name, script);
        let without_code = match &values {
            None => Some("made in another format".to_owned()),
            Some(_) if pack.is_empty() => None,
            Some(_) => self.engine.resume_session(&script, pack).err(),
        };
        let mut left_out = Vec::new();
        let mut stopped = Ok(());
        let _ = self.run_for_values(&script, &mut |_, outcome| match outcome {
            Ok(_) => ControlFlow::Continue(()),
            Err(Error::Invalid(mistakes)) => {
                left_out.extend(mistakes);
                ControlFlow::Continue(())
            }
            Err(error) => {
                stopped = Err(error);
                ControlFlow::Break(())
            }
        });
        stopped?;
        let Some(values) = values else { return Ok(Resumed { without_code, left_out }) };
        for (name, bits) in values.variables {
            // What is not declared any more is in a module that has changed.
            if let Ok(name) = self.declared(&name) {
                let _ = self.set_value_of(name, f64::from_bits(bits));
            }
        }
        self.outside.state.random = RandomNumbers::of_state(values.random);
        Ok(Resumed { without_code, left_out })
    }
}
