//! Which members a test run is about, read from the arguments that go to cargo.
//!
//! It must not decide what a member needs: who prepares something knows who uses it.

/// Whether the arguments of a test run leave in any of these members.
pub(crate) fn any(arguments: &[String], members: &[&str]) -> bool {
    let mut chosen = Vec::new();
    // What follows `--` is for the tests, not for cargo.
    let mut rest = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            // Beside these, cargo ignores a chosen package.
            "--workspace" | "--all" => return true,
            "-p" | "--package" => chosen.extend(rest.next().map(String::as_str)),
            other => {
                let joined = other
                    .strip_prefix("--package=")
                    .or_else(|| other.strip_prefix("-p"));
                chosen.extend(joined.map(|name| name.trim_start_matches('=')));
            }
        }
    }
    chosen.is_empty() || chosen.into_iter().any(|id| may_be_one_of(id, members))
}

/// Whether a package id names a member; a pattern or an address may name any package.
fn may_be_one_of(id: &str, members: &[&str]) -> bool {
    let name = id.split('@').next().unwrap_or(id);
    let is_plain = name
        .chars()
        .all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_'));
    !is_plain || members.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &[&str] = &["piton-postgres", "piton-cli"];

    #[track_caller]
    fn check(arguments: &[&str], expected: bool) {
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        assert_eq!(any(&arguments, USERS), expected, "{arguments:?}");
    }

    #[test]
    fn a_run_that_chooses_no_package_is_about_all() {
        check(&[], true);
        check(&["a_test_name", "--no-capture"], true);
        check(&["--workspace", "-p", "piton-chain"], true);
        check(&["-p", "piton-chain", "--all"], true);
        check(&["--", "-p", "piton-chain"], true);
    }

    #[test]
    fn a_run_of_other_packages_is_not() {
        check(&["-p", "piton-chain"], false);
        check(&["-ppiton-chain"], false);
        check(&["-p=piton-chain", "some_test"], false);
        check(&["--package", "piton-sqlite", "-p", "piton-chain"], false);
        check(&["--package=piton-postgres-extra"], false);
        check(&["-p", "piton-chain", "piton-postgres"], false);
        check(&["-p", "piton-chain", "--", "--workspace"], false);
    }

    #[test]
    fn a_run_of_any_of_them_is() {
        for user in USERS {
            check(&["-p", user], true);
            check(&[&format!("--package={user}")], true);
            check(&["-p", "piton-chain", &format!("-p{user}")], true);
        }
        check(&["-p", "piton-postgres@0.1.0"], true);
        check(&["-p", "piton-chain@0.1.0"], false);
        check(&["-p", "piton-*"], true);
        check(&["-p", "path+file:///piton#piton-postgres"], true);
    }
}
