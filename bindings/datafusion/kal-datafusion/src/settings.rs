//! The settings of a session: `SET kal.timeout_ms = 500`.
//!
//! They are an extension of DataFusion's settings. So they travel with a query, and whoever
//! runs a part of it, an executor for instance, heeds those of the session that asked.

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::config_err;
use datafusion::error::Result;
use std::any::Any;
use std::fmt;
use std::time::Duration;

/// What becomes of rows in which a function fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnError {
    /// The query fails, with the arguments of the row.
    #[default]
    Fail,
    /// The result is NULL.
    Null,
}

impl fmt::Display for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fail => "fail",
            Self::Null => "null",
        })
    }
}

/// The settings that begin with `kal.`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KalSettings {
    /// How long a function may take for one batch of rows; `None`, written 0, for no limit.
    pub timeout: Option<Duration>,
    /// What becomes of rows in which a function fails.
    pub on_error: OnError,
    /// Whether arithmetic around calls of functions is computed with them, in one loop.
    pub fuse: bool,
}

impl Default for KalSettings {
    fn default() -> Self {
        Self { timeout: Some(Duration::from_secs(10)), on_error: OnError::Fail, fuse: true }
    }
}

/// A setting: its name after `kal.`, how it is shown and set, and what it is for.
struct Setting {
    name: &'static str,
    shown: fn(&KalSettings) -> String,
    /// Returns false for a value that it cannot have.
    set: fn(&mut KalSettings, &str) -> bool,
    values: &'static str,
    description: &'static str,
}

const SETTINGS: &[Setting] = &[
    Setting {
        name: "timeout_ms",
        shown: |settings| settings.timeout.map_or(0, |timeout| timeout.as_millis()).to_string(),
        set: |settings, value| {
            let timeout = value.parse::<u64>().ok().map(Duration::from_millis);
            settings.timeout = timeout.filter(|timeout| !timeout.is_zero());
            timeout.is_some()
        },
        values: "a number of milliseconds, 0 for no limit",
        description: "How many milliseconds a function may take for one batch of rows; 0 for no limit.",
    },
    Setting {
        name: "on_error",
        shown: |settings| settings.on_error.to_string(),
        set: |settings, value| {
            let known = [OnError::Fail, OnError::Null];
            let found = known.into_iter().find(|known| known.to_string().eq_ignore_ascii_case(value));
            settings.on_error = found.unwrap_or(settings.on_error);
            found.is_some()
        },
        values: "'fail' or 'null'",
        description: "What becomes of a row in which a function fails: 'fail' ends the query, with 'null' its result is NULL.",
    },
    Setting {
        name: "fuse",
        shown: |settings| settings.fuse.to_string(),
        set: |settings, value| {
            let fuse = value.to_ascii_lowercase().parse().ok();
            settings.fuse = fuse.unwrap_or(settings.fuse);
            fuse.is_some()
        },
        values: "true or false",
        description: "Whether arithmetic around calls of functions is computed with them, in one loop.",
    },
];

impl KalSettings {
    /// Returns those in force; the defaults in a session without.
    pub fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }
}

impl ConfigExtension for KalSettings {
    const PREFIX: &'static str = "kal";
}

impl ExtensionOptions for KalSettings {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == key) else {
            let names: Vec<_> = SETTINGS.iter().map(|setting| format!("kal.{}", setting.name)).collect();
            return config_err!("there is no setting `kal.{key}`, only {}", names.join(", "));
        };
        let mut changed = self.clone();
        if !(setting.set)(&mut changed, value.trim()) {
            return config_err!("`kal.{key}` is {}, not `{value}`", setting.values);
        }
        *self = changed;
        Ok(())
    }

    /// Returns all with their whole names: this is how they are sent to others.
    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |setting: &Setting| ConfigEntry {
            key: format!("kal.{}", setting.name),
            value: Some((setting.shown)(self)),
            description: setting.description,
        };
        SETTINGS.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_set_by_name_and_shown_as_they_are_set() {
        let mut options = ConfigOptions::new();
        options.extensions.insert(KalSettings::default());
        options.set("kal.timeout_ms", "250").unwrap();
        options.set("kal.on_error", "NULL").unwrap();
        options.set("kal.fuse", "False").unwrap();
        let settings = KalSettings::of(&options);
        assert_eq!(settings.timeout, Some(Duration::from_millis(250)));
        assert_eq!((settings.on_error, settings.fuse), (OnError::Null, false));
        let shown: Vec<_> =
            options.entries().into_iter().filter(|entry| entry.key.starts_with("kal.")).collect();
        let mut other = ConfigOptions::new();
        other.extensions.insert(KalSettings::default());
        for entry in shown {
            other.set(&entry.key, &entry.value.unwrap()).unwrap();
        }
        assert_eq!(KalSettings::of(&other), settings);
        options.set("kal.timeout_ms", "0").unwrap();
        assert_eq!(KalSettings::of(&options).timeout, None);
    }

    #[test]
    fn a_wrong_value_changes_nothing_and_the_error_says_what_is_right() {
        let mut settings = KalSettings::default();
        for (key, value, message) in [
            ("timeout_ms", "-1", "`kal.timeout_ms` is a number of milliseconds, 0 for no limit, not `-1`"),
            ("on_error", "ignore", "`kal.on_error` is 'fail' or 'null', not `ignore`"),
            ("fuse", "maybe", "`kal.fuse` is true or false, not `maybe`"),
            ("fuze", "true", "there is no setting `kal.fuze`, only kal.timeout_ms, kal.on_error, kal.fuse"),
        ] {
            let error = settings.set(key, value).unwrap_err().strip_backtrace();
            assert!(error.ends_with(message), "{error}");
        }
        assert_eq!(settings, KalSettings::default());
    }
}
