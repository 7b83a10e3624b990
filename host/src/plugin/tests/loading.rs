//! Directories with good, bad and hostile files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::plugin::load::LIST_TOOLS;

/// As by default, but soon over.
const LIST: Limits = Limits { time: Duration::from_secs(3), cpu: Duration::from_secs(1), ..LIST_TOOLS };

/// A plugin in text form: `list` and `call` are the bodies of its two functions, over one page of memory.
///
/// The core functions return a pointer to the flattened result.
fn component(before: &str, list: &str, call: &str) -> Vec<u8> {
    let module = format!(
        r#"(module
             (memory (export "memory") 1 16384)
             {before}
             (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
             (func (export "list") (result i32) {list})
             (func (export "call") (param i32) (result i32) {call}))"#
    );
    embed(&module)
}

/// Wraps a core module in the contract's types.
fn embed(module: &str) -> Vec<u8> {
    let module = module
        .replace("(export \"list\")", "(export \"pausegate:plugin/tools@0.1.0#list-tools\")")
        .replace("(export \"call\")", "(export \"pausegate:plugin/tools@0.1.0#call-tool\")");
    let mut core = wat::parse_str(&module).unwrap();
    let mut resolve = wit_parser::Resolve::default();
    let contract = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/plugin.wit")).unwrap();
    // Only the world without WASI is needed, so the others go.
    let contract = contract.split("/// A plugin that can tell after a crash").next().unwrap();
    let package = resolve.push_str("plugin.wit", contract).unwrap();
    let world = resolve.select_world(&[package], Some("plugin")).unwrap();
    wit_component::embed_component_metadata(&mut core, &resolve, world, wit_component::StringEncoding::UTF8, false).unwrap();
    wit_component::ComponentEncoder::default().validate(true).module(&core).unwrap().encode().unwrap()
}

async fn load(dir: &Path, cache: Option<&Path>) -> (WasmPlugins, Vec<LoadProgress>) {
    let stages = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&stages);
    let mut config = PluginConfig::new(dir, cache.map(Into::into));
    config.list_limits = LIST;
    config.progress = Some(Arc::new(move |progress| heard.lock().unwrap().push(progress)));
    let plugins = WasmPlugins::load(config).await.unwrap();
    let stages = stages.lock().unwrap().clone();
    (plugins, stages)
}

fn reason(plugins: &WasmPlugins, name: &str) -> String {
    let failure = plugins.failures().into_iter().find(|failure| failure.name == name);
    failure.unwrap_or_else(|| panic!("`{name}` did not fail: {:?}", plugins.failures())).reason
}

#[tokio::test]
async fn a_missing_directory_holds_no_plugins() {
    let (plugins, _) = load(Path::new("/nonexistent/plugins"), None).await;
    assert_eq!((plugins.catalog(), plugins.failures()), (Vec::new(), Vec::new()));
}

#[test]
fn w11_w51_bad_files_are_named_and_stop_no_other() {
    on_any_number_of_threads(async || {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).unwrap();
        let whole = fs::read(guest("plugins/files.wasm")).unwrap();
        write("files.wasm", &whole);
        write("half.wasm", &whole[..whole.len() / 2]);
        write("empty.wasm", b"");
        write("text.wasm", b"hello");
        write("core.wasm", &wat::parse_str("(module)").unwrap());
        write("Bad Name.wasm", &whole);
        write("a__b.wasm", &whole);
        write(".hidden.wasm", b"copy in progress");
        write("notes.txt", b"no plugin");
        write("loops-in-start.wasm", &component("(func $s (loop $l (br $l))) (start $s)", "(unreachable)", "(unreachable)"));
        write("loops.wasm", &component("", "(loop $l (br $l)) (unreachable)", "(unreachable)"));
        write("traps.wasm", &component("", "(unreachable)", "(unreachable)"));
        write(
            "grows.wasm",
            &component("", "(if (i32.eq (memory.grow (i32.const 8000)) (i32.const -1)) (then (unreachable))) (unreachable)", "(unreachable)"),
        );
        write("outside.wasm", &component("", "(i32.const -4)", "(unreachable)"));
        fs::create_dir(dir.path().join("folder.wasm")).unwrap();

        let began = Instant::now();
        let (plugins, _) = load(dir.path(), None).await;
        assert!(began.elapsed() < LIST.time + Duration::from_secs(40), "{:?}", began.elapsed());
        assert_eq!(plugins.loaded().keys().cloned().collect::<Vec<_>>(), ["files"]);
        assert_eq!(
            plugins.catalog().iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["files__list", "files__read", "files__write", "files__delete"]
        );
        let failed: Vec<_> = plugins.failures().into_iter().map(|failure| failure.name).collect();
        assert_eq!(failed, ["Bad Name", "a__b", "core", "empty", "folder", "grows", "half", "loops", "loops-in-start", "outside", "text", "traps"]);
        assert!(reason(&plugins, "half").contains("cut off or damaged"));
        assert_eq!(reason(&plugins, "text"), "not a WebAssembly file");
        assert_eq!(reason(&plugins, "empty"), "the file is empty");
        assert!(reason(&plugins, "core").contains("not a component"));
        for looping in ["loops", "loops-in-start"] {
            // Of processor or of time: a busy machine gives less of the one.
            assert!(reason(&plugins, looping).contains("out-of-"), "{}", reason(&plugins, looping));
        }
        assert!(reason(&plugins, "traps").contains("trapped"));
        assert!(reason(&plugins, "grows").contains("out-of-memory"), "{}", reason(&plugins, "grows"));
    });
}

#[tokio::test]
async fn w16_a_second_start_neither_compiles_nor_asks() {
    let (dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::copy(guest("plugins/files.wasm"), dir.path().join("files.wasm")).unwrap();
    let cache_dir = cache.path().join("compiled");
    let (first, stages) = load(dir.path(), Some(&cache_dir)).await;
    let stage = |stages: Vec<LoadProgress>| stages.into_iter().map(|progress| progress.stage).collect::<Vec<_>>();
    assert_eq!(stage(stages), [LoadStage::Compiling, LoadStage::Listing, LoadStage::Ready]);
    let (second, stages) = load(dir.path(), Some(&cache_dir)).await;
    assert_eq!(stage(stages), [LoadStage::Ready]);
    assert_eq!((first.catalog(), first.catalogue_of("files")), (second.catalog(), second.catalogue_of("files")));
    assert_eq!(first.catalogue_of("files").unwrap().wants[0].capability, "fs");

    // Private to this user: it holds native code.
    let files: Vec<_> = walk(&cache_dir);
    assert!(files.len() >= 3, "{files:?}");
    for path in files {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
    }
    assert_eq!(fs::metadata(&cache_dir).unwrap().permissions().mode() & 0o777, 0o700);

    // One that others can write is not trusted with native code.
    fs::set_permissions(&cache_dir, fs::Permissions::from_mode(0o777)).unwrap();
    let (third, stages) = load(dir.path(), Some(&cache_dir)).await;
    assert_eq!(third.loaded(), first.loaded());
    assert!(matches!(&stages[0].stage, LoadStage::Failed(reason) if reason.contains("can be written by others")), "{stages:?}");
}

#[tokio::test]
async fn w16_a_second_start_of_a_large_plugin_is_quick() {
    let (dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut large = fs::read(guest("plugins/files.wasm")).unwrap();
    // A custom section of 20 MB at the end: five bytes of length, a name of one byte.
    let bytes: u32 = 20 << 20;
    large.push(0);
    large.extend((0..5).map(|shift| ((bytes >> (7 * shift)) & 0x7f) as u8 | if shift < 4 { 0x80 } else { 0 }));
    large.extend([1, b'x']);
    large.resize(large.len() + bytes as usize - 2, 7);
    fs::write(dir.path().join("large.wasm"), large).unwrap();
    let cache_dir = cache.path().join("compiled");
    load(dir.path(), Some(&cache_dir)).await;
    let began = Instant::now();
    let (plugins, stages) = load(dir.path(), Some(&cache_dir)).await;
    println!("second start, 20 MB: {:?}", began.elapsed());
    assert_eq!((plugins.failures(), stages.len()), (Vec::new(), 1));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// limit: plugin/load::FILE_BYTES_MAX
#[tokio::test]
async fn a_file_over_the_size_limit_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = fs::File::create(dir.path().join("huge.wasm")).unwrap();
    file.set_len(crate::plugin::load::FILE_BYTES_MAX + 1).unwrap();
    let (plugins, _) = load(dir.path(), None).await;
    assert_eq!(reason(&plugins, "huge"), "the file is larger than 67108864 bytes");
    file.set_len(crate::plugin::load::FILE_BYTES_MAX).unwrap();
    let (plugins, _) = load(dir.path(), None).await;
    assert_eq!(reason(&plugins, "huge"), "not a WebAssembly file");
}

/// limit: plugin/load::FILES_MAX
#[tokio::test]
async fn files_over_the_limit_are_not_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..=crate::plugin::load::FILES_MAX {
        fs::write(dir.path().join(format!("p{number:03}.wasm")), b"").unwrap();
    }
    let (plugins, _) = load(dir.path(), None).await;
    assert_eq!(reason(&plugins, "p255"), "the file is empty");
    assert_eq!(reason(&plugins, "p256"), "more than 256 plugins in the directory");
}

/// limit: plugin/load::COMPILE_TIME, config.compile_time
#[tokio::test]
async fn compiling_beyond_its_time_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(guest("plugins/files.wasm"), dir.path().join("files.wasm")).unwrap();
    let mut config = PluginConfig::new(dir.path(), None);
    config.compile_time = Duration::from_nanos(1);
    let plugins = WasmPlugins::load(config).await.unwrap();
    assert_eq!(reason(&plugins, "files"), "compiling took longer than 1ns");
}

#[tokio::test]
async fn w51_a_damaged_cache_entry_is_made_again() {
    let (dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::copy(guest("plugins/files.wasm"), dir.path().join("files.wasm")).unwrap();
    let cache_dir = cache.path().join("compiled");
    load(dir.path(), Some(&cache_dir)).await;
    let code = walk(&cache_dir).into_iter().find(|path| path.extension().is_some_and(|ending| ending == "cwasm")).unwrap();
    let whole = fs::read(&code).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for damaged in [&whole[..whole.len() / 2], &[], &flipped] {
        fs::write(&code, damaged).unwrap();
        let (plugins, stages) = load(dir.path(), Some(&cache_dir)).await;
        assert_eq!(stages.iter().map(|progress| &progress.stage).collect::<Vec<_>>(), [&LoadStage::Compiling, &LoadStage::Ready]);
        assert_eq!(plugins.failures(), []);
        assert_eq!(fs::read(&code).unwrap(), whole);
    }
}

#[tokio::test]
async fn two_processes_may_load_at_once() {
    let (dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["files", "fetch", "survey"] {
        fs::copy(guest(&format!("plugins/{name}.wasm")), dir.path().join(format!("{name}.wasm"))).unwrap();
    }
    let cache_dir = cache.path().join("compiled");
    let loads = (0..3).map(|_| load(dir.path(), Some(&cache_dir)));
    for (plugins, _) in futures_util::future::join_all(loads).await {
        assert_eq!(plugins.failures(), []);
        assert_eq!(plugins.loaded().len(), 3);
    }
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
