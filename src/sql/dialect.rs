//! sqlparser's MySQL dialect, following the session's sql_mode.

use std::any::TypeId;

use sqlparser::ast::{Expr, Statement};
use sqlparser::dialect::{Dialect, MySqlDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::sql::plan::SessionVariables;

/// MySQL's grammar under a session's sql_mode.
#[derive(Debug)]
pub(super) struct SessionDialect {
    mysql: MySqlDialect,
    ansi_quotes: bool,
    backslash_escapes: bool,
}

impl SessionDialect {
    pub(super) fn new(variables: &SessionVariables) -> Self {
        Self {
            mysql: MySqlDialect {},
            ansi_quotes: variables.ansi_quotes,
            backslash_escapes: !variables.no_backslash_escapes,
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

    /// What most expressions begin with. The parser would try all of these for a type first, as in `DATE '2026-01-01'`,
    /// and write an error about each.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::Number(..) | Token::Placeholder(_) => {
                Some(parser.parse_value().map(Expr::Value))
            }
            Token::Word(word) if word.keyword == Keyword::NoKeyword => {
                match parser.peek_nth_token_ref(1).token {
                    // A function, or a character set's introducer.
                    Token::LParen
                    | Token::SingleQuotedString(_)
                    | Token::DoubleQuotedString(_)
                    | Token::HexStringLiteral(_) => None,
                    _ => Some(parser.parse_identifier().map(Expr::Identifier)),
                }
            }
            _ => None,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_into_an_expression_leads_where_the_parsers_own_does() {
        let expressions = [
            "1, -1, 1.5e3, ?, NULL, 'a' 'b', x'1F', 0x1F",
            "views, posts.views, shop . posts . views, `posts`.`views`, `select`, `date` '2026-01-01'",
            "views v, `views` `v`, views AS 'v', views 'v', title COLLATE utf8mb4_bin",
            "IF(views, 1, 2), count (*), `f`(1), f.g(1), posts.*, _utf8mb4'x', _latin1 x'1F', _utf8mb4 \"x\"",
            "DATE '2026-01-01', INTERVAL 1 DAY + at, BINARY title, CAST(views AS SIGNED), views->'$.a', title->>'$.b'",
            "CASE views WHEN 1 THEN 2 END, (views), ((views) + (1)), EXISTS (SELECT 1), views IN (1, 2), (1, views) = (2, ?)",
            "@v, @@sql_mode, @v := views, !views, ~views, NOT views, views IS NULL, at BETWEEN ? AND ?, title LIKE 'a%'",
            "key, value, xml '<a/>', views(+), [1], {d '2026-01-01'}, a b c, 1 x 2, ? ?",
        ];
        let (ours, theirs) = (
            SessionDialect::new(&SessionVariables::default()),
            MySqlDialect {},
        );
        let mut understood = 0;
        let each = expressions.iter().flat_map(|list| list.split(", "));
        for text in expressions.iter().copied().chain(each) {
            let text = format!("SELECT {text} FROM posts WHERE {text} ORDER BY {text}");
            for text in [
                &text[..],
                &text[..text.find(" WHERE").unwrap()],
                &text[..text.find(" FROM").unwrap()],
            ] {
                let [ours, theirs] = [&ours as &dyn Dialect, &theirs].map(|dialect| {
                    let statements = Parser::parse_sql(dialect, text).ok();
                    // With the places in the text, which do not count for equality.
                    statements.map(|statements| format!("{statements:?}"))
                });
                assert_eq!(ours, theirs, "{text}");
                understood += usize::from(ours.is_some());
            }
        }
        assert!(understood > 100, "{understood}");
    }
}
