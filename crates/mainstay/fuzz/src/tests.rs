//! The seeds hold.

use std::{fs, path::Path};

fn seeds(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        check(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 3);
}

macro_rules! targets {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            seeds(stringify!($target), crate::$target::check);
        }
    )*};
}

targets!(sse_scanner framings stream_reader judge peek read_whole translate_request translate_reply translate_stream);
