//! sqlparser's MySQL dialect, following the session's sql_mode.

use std::any::TypeId;

use sqlparser::ast::{Expr, Statement};
use sqlparser::dialect::{Dialect, MySqlDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use crate::sql::plan::SessionFacts;

/// MySQL's grammar under a session's sql_mode.
#[derive(Debug)]
pub(super) struct SessionDialect {
    mysql: MySqlDialect,
    ansi_quotes: bool,
    backslash_escapes: bool,
}

impl SessionDialect {
    pub(super) fn new(facts: &SessionFacts) -> Self {
        Self {
            mysql: MySqlDialect {},
            ansi_quotes: facts.ansi_quotes,
            backslash_escapes: !facts.no_backslash_escapes,
        }
    }
}

/// Answers each of these questions as the MySQL dialect does.
macro_rules! as_mysql {
    ($($question:ident),* $(,)?) => {
        $(fn $question(&self) -> bool {
            self.mysql.$question()
        })*
    };
}

impl Dialect for SessionDialect {
    // The parser asks for the type in many places; there we are MySQL.
    fn dialect(&self) -> TypeId {
        TypeId::of::<MySqlDialect>()
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        self.mysql.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        self.mysql.is_identifier_part(letter)
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        letter == '`' || (letter == '"' && self.ansi_quotes)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.mysql.identifier_quote_style(identifier)
    }

    fn supports_string_literal_backslash_escape(&self) -> bool {
        self.backslash_escapes
    }

    // `/*! .. */` stays one comment token: its content must not shift the offsets.
    fn supports_multiline_comment_hints(&self) -> bool {
        false
    }

    as_mysql! {
        ignores_wildcard_escapes,
        require_interval_qualifier,
        requires_single_line_comment_whitespace,
        supports_binary_kw_as_cast,
        supports_bitwise_shift_operators,
        supports_comma_separated_set_assignments,
        supports_comment_optimizer_hint,
        supports_constraint_keyword_without_name,
        supports_create_table_select,
        supports_cross_join_constraint,
        supports_data_type_signed_suffix,
        supports_double_ampersand_operator,
        supports_group_by_with_modifier,
        supports_insert_set,
        supports_key_column_option,
        supports_left_associative_joins_without_parens,
        supports_limit_comma,
        supports_match_against,
        supports_numeric_prefix,
        supports_select_modifiers,
        supports_set_names,
        supports_string_literal_concatenation,
        supports_table_hints,
        supports_update_order_by,
        supports_user_host_grantee,
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        self.mysql.parse_infix(parser, expr, precedence)
    }

    fn parse_statement(&self, parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        self.mysql.parse_statement(parser)
    }

    fn is_table_factor_alias(
        &self,
        explicit: bool,
        keyword: &Keyword,
        parser: &mut Parser,
    ) -> bool {
        self.mysql.is_table_factor_alias(explicit, keyword, parser)
    }
}
