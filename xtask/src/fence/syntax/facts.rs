//! What a file says: its imports, paths, literals, calls and statics, each with its line and the
//! function that it stands in.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use syn::visit::{self, Visit};
use syn::{
    Attribute, ExprAsync, ExprAwait, ExprMethodCall, ExprPath, ExprStruct, ImplItem, ImplItemConst,
    ImplItemFn, Item, ItemConst, ItemExternCrate, ItemFn, ItemForeignMod, ItemImpl, ItemMod,
    ItemStatic, ItemUse, Lit, Macro, Meta, Path, Signature, TraitItem, TraitItemFn,
};

use super::attributes::{is_test_only, item_attributes};
use super::names::{Names, leaves};
use super::tokens::{MacroBody, TokenPath, TokenRole, macro_body, paths_in};
use super::{NamePath, ParsedFile, line_of, path_of_type, segments, without_self, word};

/// One thing that a file says.
pub(in crate::fence) struct Fact {
    pub(in crate::fence) file: String,
    pub(in crate::fence) line: usize,
    /// `function`, `Type::function` or the name of a constant; empty outside of them.
    pub(in crate::fence) within: String,
    pub(in crate::fence) said: Said,
    /// Every full path that the path which is said may stand for.
    pub(in crate::fence) stands_for: BTreeSet<NamePath>,
}

/// What a fact says.
pub(in crate::fence) enum Said {
    /// A leaf of a `use`, or an `extern crate`.
    Import(NamePath),
    /// `use path::*`.
    Glob(NamePath),
    /// A path where a value stands: a call, a variant, a constant, a function.
    Value(NamePath),
    /// A path anywhere else: a type, a bound, a pattern.
    Name(NamePath),
    /// A macro call.
    Macro(NamePath),
    /// `Path { … }` where a value stands.
    Literal(NamePath),
    /// `.method(…)`.
    Method(NamePath),
    /// A `static`.
    Static(NamePath),
    /// `async` or `.await`.
    Async,
    /// `extern "C" { … }`.
    Foreign,
}

impl Said {
    /// The path that is said; empty where none is.
    pub(in crate::fence) fn path(&self) -> &[String] {
        match self {
            Self::Import(path)
            | Self::Glob(path)
            | Self::Value(path)
            | Self::Name(path)
            | Self::Macro(path)
            | Self::Literal(path)
            | Self::Method(path)
            | Self::Static(path) => path,
            Self::Async | Self::Foreign => &[],
        }
    }
}

pub(super) fn facts_of(file: &ParsedFile, names: &Names) -> Vec<Fact> {
    let mut surveyor = Surveyor {
        names,
        resolved: BTreeMap::new(),
        file: &file.path,
        module: file.module.clone(),
        self_type: None,
        within: String::new(),
        facts: Vec::new(),
    };
    surveyor.visit_file(&file.syntax);
    surveyor.facts
}

struct Surveyor<'f> {
    names: &'f Names,
    /// What was looked up before, by module and path: a file says the same names again and again.
    resolved: BTreeMap<(NamePath, NamePath), BTreeSet<NamePath>>,
    file: &'f str,
    module: NamePath,
    self_type: Option<NamePath>,
    within: String,
    facts: Vec<Fact>,
}

impl Surveyor<'_> {
    fn say(&mut self, line: usize, said: Said) {
        let key = (self.module.clone(), said.path().to_vec());
        let (names, module) = (self.names, &self.module);
        let resolve = || names.resolve(module, said.path());
        let stands_for = self.resolved.entry(key).or_insert_with(resolve).clone();
        self.facts.push(Fact {
            file: self.file.to_owned(),
            line,
            within: self.within.clone(),
            said,
            stands_for,
        });
    }

    fn full(&self, path: &Path) -> NamePath {
        without_self(segments(path), self.self_type.as_ref())
    }

    fn visit_arguments(&mut self, path: &Path) {
        for segment in &path.segments {
            self.visit_path_arguments(&segment.arguments);
        }
    }

    /// Visits what stands in something that has a name.
    fn inside(&mut self, name: &proc_macro2::Ident, visit: impl FnOnce(&mut Self)) {
        let owner = self.self_type.as_ref().and_then(|path| path.last());
        let name = word(name);
        let within = owner.map_or_else(|| name.clone(), |owner| format!("{owner}::{name}"));
        let outer = std::mem::replace(&mut self.within, within);
        visit(self);
        self.within = outer;
    }

    fn say_tokens(&mut self, tokens: &TokenStream) {
        for TokenPath { path, line, role } in paths_in(tokens) {
            let path = without_self(path, self.self_type.as_ref());
            let said = match role {
                TokenRole::Path => Said::Value(path),
                TokenRole::Glob => Said::Glob(path),
                TokenRole::Macro => Said::Macro(path),
                TokenRole::Method => Said::Method(path),
            };
            self.say(line, said);
        }
    }

    /// Attributes such as `#[serde(with = "a::b")]` name code in strings.
    fn say_strings(&mut self, tokens: &TokenStream) {
        for tree in tokens.clone() {
            if let proc_macro2::TokenTree::Group(group) = &tree {
                self.say_strings(&group.stream());
            }
            let line = tree.span().start().line;
            if let proc_macro2::TokenTree::Literal(literal) = tree
                && let Lit::Str(text) = Lit::new(literal)
                && let Ok(path) = syn::parse_str::<Path>(&text.value())
                && path.segments.len() > 1
            {
                let path = self.full(&path);
                self.say(line, Said::Value(path));
            }
        }
    }
}

impl Visit<'_> for Surveyor<'_> {
    fn visit_item(&mut self, item: &Item) {
        if !is_test_only(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &ImplItem) {
        if let ImplItem::Fn(function) = item
            && is_test_only(&function.attrs)
        {
            return;
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_trait_item(&mut self, item: &TraitItem) {
        if let TraitItem::Fn(function) = item
            && is_test_only(&function.attrs)
        {
            return;
        }
        visit::visit_trait_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &ItemMod) {
        self.module.push(word(&module.ident));
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_impl(&mut self, item: &ItemImpl) {
        let outer = std::mem::replace(&mut self.self_type, path_of_type(&item.self_ty));
        visit::visit_item_impl(self, item);
        self.self_type = outer;
    }

    fn visit_item_fn(&mut self, item: &ItemFn) {
        // A function inside another one has no `Self`.
        let outer = self.self_type.take();
        self.inside(&item.sig.ident, |this| visit::visit_item_fn(this, item));
        self.self_type = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &ImplItemFn) {
        self.inside(&item.sig.ident, |this| {
            visit::visit_impl_item_fn(this, item)
        });
    }

    fn visit_trait_item_fn(&mut self, item: &TraitItemFn) {
        self.inside(&item.sig.ident, |this| {
            visit::visit_trait_item_fn(this, item)
        });
    }

    fn visit_impl_item_const(&mut self, item: &ImplItemConst) {
        self.inside(&item.ident, |this| visit::visit_impl_item_const(this, item));
    }

    fn visit_item_const(&mut self, item: &ItemConst) {
        self.inside(&item.ident, |this| visit::visit_item_const(this, item));
    }

    fn visit_item_static(&mut self, item: &ItemStatic) {
        let line = item.ident.span().start().line;
        self.say(line, Said::Static(vec![word(&item.ident)]));
        self.inside(&item.ident, |this| visit::visit_item_static(this, item));
    }

    fn visit_item_foreign_mod(&mut self, item: &ItemForeignMod) {
        self.say(item.abi.extern_token.span.start().line, Said::Foreign);
        visit::visit_item_foreign_mod(self, item);
    }

    fn visit_signature(&mut self, signature: &Signature) {
        if let Some(token) = &signature.asyncness {
            self.say(token.span.start().line, Said::Async);
        }
        visit::visit_signature(self, signature);
    }

    fn visit_expr_async(&mut self, expression: &ExprAsync) {
        self.say(expression.async_token.span.start().line, Said::Async);
        visit::visit_expr_async(self, expression);
    }

    fn visit_expr_await(&mut self, expression: &ExprAwait) {
        self.say(expression.await_token.span.start().line, Said::Async);
        visit::visit_expr_await(self, expression);
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        for leaf in leaves(&item.tree) {
            let said = match leaf.name {
                Some(_) => Said::Import(leaf.path),
                None => Said::Glob(leaf.path),
            };
            self.say(leaf.line, said);
        }
    }

    fn visit_item_extern_crate(&mut self, item: &ItemExternCrate) {
        let line = item.ident.span().start().line;
        self.say(line, Said::Import(vec![word(&item.ident)]));
    }

    fn visit_path(&mut self, path: &Path) {
        let said = Said::Name(self.full(path));
        self.say(line_of(path), said);
        self.visit_arguments(path);
    }

    fn visit_expr_path(&mut self, expression: &ExprPath) {
        if let Some(qualified) = &expression.qself {
            self.visit_type(&qualified.ty);
        }
        let said = Said::Value(self.full(&expression.path));
        self.say(line_of(&expression.path), said);
        self.visit_arguments(&expression.path);
    }

    fn visit_pat(&mut self, pattern: &syn::Pat) {
        // The default takes the path of a pattern for a value.
        if let syn::Pat::Path(pattern) = pattern {
            self.visit_path(&pattern.path);
        } else {
            visit::visit_pat(self, pattern);
        }
    }

    fn visit_expr_struct(&mut self, expression: &ExprStruct) {
        let said = Said::Literal(self.full(&expression.path));
        self.say(line_of(&expression.path), said);
        self.visit_arguments(&expression.path);
        for field in &expression.fields {
            self.visit_field_value(field);
        }
        if let Some(rest) = &expression.rest {
            self.visit_expr(rest);
        }
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        let line = call.method.span().start().line;
        self.say(line, Said::Method(vec![word(&call.method)]));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &Macro) {
        let path = self.full(&call.path);
        let name = path.last().cloned().unwrap_or_default();
        self.say(line_of(&call.path), Said::Macro(path));
        match macro_body(&name, &call.tokens) {
            MacroBody::Comparison(value, pattern) => {
                self.visit_expr(&value);
                self.visit_pat(&pattern);
            }
            MacroBody::Expressions(expressions) => {
                expressions.iter().for_each(|inner| self.visit_expr(inner));
            }
            MacroBody::Statements(statements) => {
                statements.iter().for_each(|inner| self.visit_stmt(inner));
            }
            MacroBody::Opaque(tokens) => self.say_tokens(&tokens),
        }
    }

    fn visit_attribute(&mut self, attribute: &Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.say_tokens(&list.tokens);
            self.say_strings(&list.tokens);
        }
    }
}
