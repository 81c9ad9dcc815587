//! Runs the console examples of the README and compares what they print; `…` stands for anything.

use std::path::Path;
use std::process::Command;

fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        rest = match rest.find(part) {
            Some(at) if parts.peek().is_some() => &rest[at + part.len()..],
            Some(_) if rest.ends_with(part) => "",
            Some(_) | None => return false,
        };
    }
    rest.is_empty()
}

#[test]
fn the_console_examples_print_what_the_readme_shows() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let folder = tempfile::tempdir().expect("a directory");
    let command = Path::new(env!("CARGO_BIN_EXE_piton"));
    let path = format!(
        "{}:/usr/bin:/bin",
        command.parent().expect("a folder").display()
    );
    let mut examples = 0;
    for block in readme
        .split("```console\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
    {
        for example in block.split("$ ").skip(1) {
            let (line, shown) = example.split_once('\n').expect("a command and its output");
            let output = Command::new("sh")
                .args(["-c", line])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env_remove("PITON_STORE")
                .output()
                .expect("a shell");
            let printed = String::from_utf8(output.stdout).expect("text");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{line}: {errors}");
            let (printed, shown): (Vec<_>, Vec<_>) =
                (printed.lines().collect(), shown.lines().collect());
            assert_eq!(printed.len(), shown.len(), "{line}: {printed:?}");
            for (printed, shown) in printed.iter().zip(&shown) {
                assert!(
                    matches(shown, printed),
                    "{line}\nshown:   {shown}\nprinted: {printed}"
                );
            }
            examples += 1;
        }
    }
    assert_eq!(examples, 3);
}

#[test]
fn the_comparison_can_fail() {
    assert!(
        matches("a…c", "abc") && matches("…", "") && matches("a", "a") && matches("a…b…c", "a1b2c")
    );
    assert!(
        !matches("a…c", "abd")
            && !matches("a", "b")
            && !matches("a", "ab")
            && !matches("a…b…c", "a1c")
    );
}
