//! SQL in one process: the files of `tests/sql`, which also run on a cluster, and those of
//! `tests/local`.

#[path = "../../tests/script.rs"]
mod script;

use datafusion::prelude::SessionContext;
use kal_datafusion::{KalEngine, enable};
use std::path::Path;

fn session() -> SessionContext {
    let context = SessionContext::new_with_config(
        datafusion::prelude::SessionConfig::new().with_information_schema(true).with_target_partitions(2),
    );
    enable(&context, &KalEngine::new().unwrap()).unwrap();
    context
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_sql_give_what_they_say() {
    for folder in ["../tests/sql", "../tests/local"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty());
        for path in paths {
            script::check(&session(), &path).await;
        }
    }
}
