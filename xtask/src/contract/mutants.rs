//! Shows that the cases would notice a wrong classifier: each decision is turned round by itself,
//! in the very code and table that the command uses, and each time some case must fail.

use super::classify::Classifier;
use super::delta::Change;
use super::judgement::first_mistake;
use super::question::{Question, honestly};
use super::rules::{Contract, Rule, Ruling, Rust, Verdict};
use super::table::rules;

#[test]
fn an_answer_turned_round_is_noticed() {
    for turned in Question::ALL {
        let classifier = Classifier {
            rules: rules(),
            decide: &|question, fact| fact != (question == turned),
        };
        assert!(
            first_mistake(&classifier).is_some(),
            "no case notices that {turned:?} is answered wrong"
        );
    }
}

/// Checks that the cases notice when this rule stands in the place of the one there, or none does.
#[track_caller]
fn check_noticed(place: usize, replacement: Option<Rule>) {
    let mut rules = rules();
    let replaced = rules.remove(place);
    if let Some(rule) = replacement {
        rules.insert(place, rule);
    }
    let classifier = Classifier {
        rules,
        decide: &honestly,
    };
    assert!(
        first_mistake(&classifier).is_some(),
        "no case notices {replacement:?} in the place of {replaced:?}"
    );
}

/// Gives every verdict that differs from one in one class.
///
/// `MajorIfClosed` is put in nowhere: where no type stands above, it means the same as `Minor`.
fn wrong_verdicts(verdict: Verdict) -> Vec<Verdict> {
    let contracts = [Contract::Additive, Contract::Recorded, Contract::Breaking]
        .into_iter()
        .filter(|contract| *contract != verdict.contract)
        .map(|contract| Verdict {
            contract,
            ..verdict
        });
    let rusts = [Rust::Nothing, Rust::Minor, Rust::Major]
        .into_iter()
        .filter(|rust| *rust != verdict.rust)
        .map(|rust| Verdict { rust, ..verdict });
    contracts.chain(rusts).collect()
}

fn wrong_rulings(ruling: Ruling) -> Vec<Ruling> {
    match ruling {
        Ruling::Always(verdict) => wrong_verdicts(verdict)
            .into_iter()
            .map(Ruling::Always)
            .collect(),
        Ruling::Depends { question, yes, no } => {
            let depends = |yes, no| Ruling::Depends { question, yes, no };
            let first = wrong_verdicts(yes).into_iter().map(|yes| depends(yes, no));
            let second = wrong_verdicts(no).into_iter().map(|no| depends(yes, no));
            first.chain(second).collect()
        }
    }
}

#[test]
fn a_verdict_of_a_rule_that_is_wrong_is_noticed() {
    for (place, rule) in rules().iter().enumerate() {
        for ruling in wrong_rulings(rule.ruling) {
            check_noticed(place, Some(Rule { ruling, ..*rule }));
        }
    }
}

#[test]
fn two_verdicts_of_a_rule_that_are_swapped_are_noticed() {
    for (place, rule) in rules().iter().enumerate() {
        let Ruling::Depends { question, yes, no } = rule.ruling else {
            continue;
        };
        // Where both answers lead to the same classes, the question only chooses the reason.
        if (yes.contract, yes.rust) != (no.contract, no.rust) {
            let ruling = Ruling::Depends {
                question,
                yes: no,
                no: yes,
            };
            check_noticed(place, Some(Rule { ruling, ..*rule }));
        }
    }
}

#[test]
fn a_rule_that_is_missing_or_about_another_change_is_noticed() {
    for (place, rule) in rules().iter().enumerate() {
        check_noticed(place, None);
        for change in [Change::Added, Change::Removed, Change::Changed] {
            if change != rule.change {
                check_noticed(place, Some(Rule { change, ..*rule }));
            }
        }
    }
}

#[test]
fn a_rule_that_asks_another_question_is_noticed() {
    let asked = [
        Question::IsRequired,
        Question::IsRaised,
        Question::IsStricter,
        Question::KindExisted,
    ];
    for (place, rule) in rules().iter().enumerate() {
        let Ruling::Depends { question, yes, no } = rule.ruling else {
            continue;
        };
        for other in asked.into_iter().filter(|other| *other != question) {
            if (yes.contract, yes.rust) != (no.contract, no.rust) {
                let question = other;
                let ruling = Ruling::Depends { question, yes, no };
                check_noticed(place, Some(Rule { ruling, ..*rule }));
            }
        }
    }
}

#[test]
fn a_pattern_that_is_missing_is_noticed() {
    for (place, rule) in rules().iter().enumerate() {
        for missing in 0..rule.patterns.len() {
            let mut rules = rules();
            rules[place].patterns = &rule.patterns[..missing];
            rules.push(Rule {
                patterns: &rule.patterns[missing + 1..],
                ..*rule
            });
            let classifier = Classifier {
                rules,
                decide: &honestly,
            };
            assert!(
                first_mistake(&classifier).is_some(),
                "no case notices that `{}` is missing",
                rule.patterns[missing]
            );
        }
    }
}
