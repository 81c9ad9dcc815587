//! The rules: what each is called, which literals announce it, and what shape it looks for.
//! A rule matches a known shape only; none may guess by entropy.

use core::fmt;

use crate::secret::{Hit, Secret};
use crate::token::Token;
use crate::{authorization, private_key, url};

/// One named secret rule.
///
/// Its id is stable: stores may count by it, and messages may name it.
pub struct Rule {
    id: &'static str,
    description: &'static str,
    literals: &'static [&'static str],
    shape: Shape,
}

impl Rule {
    /// The rule's stable name, in lower case with hyphens.
    #[must_use]
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// What the rule finds, as a phrase that can follow "found".
    #[must_use]
    pub const fn description(&self) -> &'static str {
        self.description
    }

    /// What has to stand in a text, in any case, before the rule is asked at all.
    pub(crate) const fn literals(&self) -> &'static [&'static str] {
        self.literals
    }

    /// The secret that one of the rule's literals announces, if its surroundings agree.
    pub(crate) fn secret_at(&self, text: &str, hit: Hit) -> Option<Secret> {
        match &self.shape {
            Shape::Token(token) => token.find(text, hit),
            Shape::Search(find) => find(text, hit),
            Shape::KeyName => None,
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Lists the rules in their order: private keys, tokens by vendor, tokens of any vendor, URLs,
/// authorisation, and last `secret-named-key`, which stands for
/// [`redact_whole`](crate::redact_whole) and matches no text by itself.
///
/// The order decides which rule names a secret when several match exactly the same text.
#[must_use]
pub fn rules() -> &'static [Rule] {
    &RULES
}

/// The rule that stands for strings beneath secret-named keys.
pub(crate) fn secret_named_key() -> &'static Rule {
    let [.., last] = &RULES;
    last
}

/// How a rule looks for its secret.
enum Shape {
    /// A token that a pattern describes to its end.
    Token(Token),
    /// Anything that takes more than a pattern.
    Search(fn(&str, Hit) -> Option<Secret>),
    /// Found by the key above it, not by its text.
    KeyName,
}

const fn token(
    id: &'static str,
    description: &'static str,
    literals: &'static [&'static str],
    token: Token,
) -> Rule {
    Rule {
        id,
        description,
        literals,
        shape: Shape::Token(token),
    }
}

const fn search(
    id: &'static str,
    description: &'static str,
    literals: &'static [&'static str],
    find: fn(&str, Hit) -> Option<Secret>,
) -> Rule {
    Rule {
        id,
        description,
        literals,
        shape: Shape::Search(find),
    }
}

static RULES: [Rule; 22] = [
    search(
        "private-key",
        "a PEM private key",
        private_key::LITERALS,
        private_key::find,
    ),
    token(
        "aws-access-key-id",
        "an AWS access key id",
        &["AKIA", "ASIA", "ABIA"],
        Token::new("(?:AKIA|ASIA|ABIA)[A-Z0-9]{16}"),
    ),
    token(
        "github-classic-token",
        "a classic GitHub personal access token",
        &["ghp_"],
        Token::new("ghp_[A-Za-z0-9_]{36,}"),
    ),
    token(
        "github-fine-grained-token",
        "a fine-grained GitHub personal access token",
        &["github_pat_"],
        Token::new("github_pat_[A-Za-z0-9_]{36,}"),
    ),
    token(
        "github-oauth-token",
        "a GitHub OAuth access token",
        &["gho_"],
        Token::new("gho_[A-Za-z0-9_]{36,}"),
    ),
    token(
        "github-app-token",
        "a GitHub app token",
        &["ghu_", "ghs_"],
        Token::new("gh[us]_[A-Za-z0-9_]{36,}"),
    ),
    token(
        "github-refresh-token",
        "a GitHub refresh token",
        &["ghr_"],
        Token::new("ghr_[A-Za-z0-9_]{36,}"),
    ),
    token(
        "gitlab-token",
        "a GitLab token",
        &[
            "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-",
            "glagent-", "glsoat-", "gloas-", "glffct-",
        ],
        // The newest form ends with a version and a checksum, each behind a full stop.
        Token::new(
            "gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[A-Za-z0-9_-]{20,}\
             (?:\\.[0-9a-z]{2}\\.[0-9a-z]{7,})?",
        ),
    ),
    token(
        "slack-token",
        "a Slack token",
        &["xox"],
        Token::new("xox[a-z]-[A-Za-z0-9%_-]{10,}"),
    ),
    token(
        "slack-app-token",
        "a Slack app-level token",
        &["xapp-"],
        Token::new("xapp-[A-Za-z0-9-]{20,}"),
    ),
    token(
        "slack-webhook",
        "a Slack webhook",
        &[
            "hooks.slack.com/services/",
            "hooks.slack.com/workflows/",
            "hooks.slack.com/triggers/",
        ],
        Token::new("[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+){1,4}").behind_literal(),
    ),
    token(
        "google-api-key",
        "a Google API key",
        &["AIza"],
        Token::new("AIza[A-Za-z0-9_-]{35,}"),
    ),
    token(
        "stripe-live-key",
        "a Stripe live key",
        &["sk_live_", "rk_live_"],
        Token::new("[sr]k_live_[A-Za-z0-9]{16,}"),
    ),
    token(
        "anthropic-key",
        "an Anthropic key",
        &["sk-ant-"],
        Token::new("sk-ant-[A-Za-z0-9_-]{20,}"),
    ),
    token(
        "openai-key",
        "an OpenAI key",
        &["sk-"],
        Token::new("sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})")
            .accepting(|token| !is_tagged_digest(token)),
    ),
    token(
        "npm-token",
        "an npm token",
        &["npm_"],
        Token::new("npm_[A-Za-z0-9]{36,}"),
    ),
    token(
        "pypi-token",
        "a PyPI token",
        &["pypi-AgE"],
        Token::new("pypi-AgE[A-Za-z0-9_-]{32,}"),
    ),
    token(
        "jwt",
        "a JSON web token",
        &["eyJ"],
        // Three parts when signed, the signature perhaps empty; five when encrypted, the second
        // perhaps empty.
        Token::new(
            "eyJ[A-Za-z0-9_-]{8,}\\.(?:[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]*\
             (?:(?:\\.[A-Za-z0-9_-]+){2})?|(?:\\.[A-Za-z0-9_-]{8,}){3})",
        )
        .strict(),
    ),
    search(
        "url-password",
        "a password in a URL",
        url::LITERALS,
        url::find,
    ),
    search(
        "bearer-authorization",
        "a bearer authorisation value",
        authorization::BEARER,
        authorization::find_bearer,
    ),
    search(
        "basic-authorization",
        "a basic authorisation value",
        authorization::BASIC,
        authorization::find_basic,
    ),
    Rule {
        id: "secret-named-key",
        description: "a string beneath a secret-named key",
        literals: &[],
        shape: Shape::KeyName,
    },
];

/// Whether all behind `sk-` is a digest as long as those of SHA-1, SHA-256, BLAKE3, SHA-384 or
/// SHA-512: `sk-` is also a language tag before content-addressed names.
fn is_tagged_digest(token: &str) -> bool {
    token.strip_prefix("sk-").is_some_and(|body| {
        matches!(body.len(), 40 | 64 | 96 | 128)
            && body.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
