//! The applications.

use crate::applications::compiled;
use crate::support::process::{self, Process};

const PYTHON: &str = "applications/requirements.txt";
const NODE: &str = "applications/package.json";

/// What an application is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Python,
    Node,
    /// With a library of Debian, of which this file is on the include path.
    Php(&'static str),
    /// With a library.
    Ruby(&'static str),
    /// A program of the package in tests/clients/applications/rust, with one of its features; and whether that takes a
    /// libmysqlclient or libmariadb of this machine.
    Rust(&'static str, bool),
}

/// An application, or one of its ways to connect.
#[derive(Debug)]
pub struct Application {
    /// As docs/applications.md names it.
    pub name: &'static str,
    kind: Kind,
    /// The script in tests/clients/applications, or the name of the program.
    source: &'static str,
    /// What the script is told beside.
    word: Option<&'static str>,
    /// What it keeps its counts in.
    pub tables: Tables,
    /// Whether it plays in every run, rather than only where everything is asked for.
    pub is_of_every_run: bool,
    /// Whether its increments of the crowd set a time by the application's own clock. Where such an increment comes
    /// behind one with a later time, it takes the exact path, so how many do is a matter of chance.
    pub has_its_own_clock: bool,
}

/// Tables, and the rules for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Made before the application makes its own.
    pub before: &'static str,
    /// Table, counters and the words behind them in its rule.
    pub rules: &'static [(&'static str, &'static str, &'static str)],
    /// What is left.
    pub left: &'static [&'static str],
    /// What must be left, where all applications with these tables leave the same.
    pub leaves: Option<&'static str>,
}

/// Those of the blog. Each library makes the other tables as it likes.
const BLOG: Tables = Tables {
    before: "ALTER DATABASE CHARACTER SET utf8mb4; CREATE TABLE seq (id INT NOT NULL); INSERT INTO seq VALUES (1000)",
    rules: &[
        ("posts", "views, likes, stock", ", touch: [updated_at]"),
        ("sign_ups", "hits", ""),
        ("seq", "id", ", slots: 0"),
    ],
    left: &[
        "SELECT 'post', id, title, views, likes, stock FROM posts ORDER BY id",
        "SELECT 'comment', post_id, text FROM comments ORDER BY id",
        "SELECT 'day', CAST(day AS CHAR), hits FROM sign_ups ORDER BY day",
        "SELECT 'seq', id FROM seq",
    ],
    leaves: Some(include_str!("left.txt")),
};

const fn blog(
    name: &'static str,
    kind: Kind,
    source: &'static str,
    word: Option<&'static str>,
) -> Application {
    Application {
        name,
        kind,
        source,
        word,
        tables: BLOG,
        is_of_every_run: false,
        has_its_own_clock: false,
    }
}

impl Application {
    const fn of_every_run(self) -> Self {
        Self {
            is_of_every_run: true,
            ..self
        }
    }

    const fn with_its_own_clock(self) -> Self {
        Self {
            has_its_own_clock: true,
            ..self
        }
    }

    /// Whether CI must have it.
    pub fn is_always_there(&self) -> bool {
        matches!(self.kind, Kind::Python | Kind::Node | Kind::Rust(_, false))
    }

    /// The program; or why it cannot be had on this machine.
    pub fn obtain(&self) -> Result<Process, String> {
        let source = format!("applications/{}", self.source);
        let mut process = match self.kind {
            Kind::Python => process::python(PYTHON, &source)?,
            Kind::Node => process::node(NODE, &source)?,
            Kind::Php(library) => {
                let asks = format!(
                    "exit(extension_loaded('pdo_mysql') && stream_resolve_include_path('{library}') ? 0 : 1);"
                );
                process::php(library, &asks, &source)?
            }
            Kind::Ruby(library) => process::ruby(library, &source)?,
            Kind::Rust(feature, with_libmysqlclient) => {
                compiled::rust(feature, with_libmysqlclient, self.source)?
            }
        };
        process.arguments.extend(self.word.map(Into::into));
        Ok(process)
    }
}

use Kind::{Node, Php, Python, Ruby, Rust};

/// All of them.
pub const APPLICATIONS: &[Application] = &[
    blog("SQLAlchemy", Python, "sqlalchemy_blog.py", None)
        .with_its_own_clock()
        .of_every_run(),
    blog(
        "SQLAlchemy, AUTOCOMMIT",
        Python,
        "sqlalchemy_blog.py",
        Some("autocommit"),
    )
    .with_its_own_clock(),
    blog("Django", Python, "django_blog.py", None).of_every_run(),
    blog("Peewee", Python, "peewee_blog.py", None),
    blog("Tortoise ORM", Python, "tortoise_blog.py", None),
    blog("Sequelize", Node, "sequelize_blog.js", None).with_its_own_clock(),
    blog("TypeORM", Node, "typeorm_blog.js", None),
    blog("Knex", Node, "knex_blog.js", None),
    blog("Drizzle", Node, "drizzle_blog.js", None)
        .with_its_own_clock()
        .of_every_run(),
    blog(
        "Rails Active Record",
        Ruby("active_record"),
        "active_record_blog.rb",
        None,
    )
    .of_every_run(),
    blog(
        "Rails Active Record, prepared",
        Ruby("active_record"),
        "active_record_blog.rb",
        Some("prepared"),
    ),
    blog(
        "Laravel Eloquent",
        Php("Illuminate/Database/autoload.php"),
        "eloquent_blog.php",
        None,
    )
    .with_its_own_clock(),
    blog(
        "Doctrine ORM",
        Php("Doctrine/ORM/autoload.php"),
        "doctrine_blog.php",
        None,
    ),
    blog("diesel", Rust("diesel", true), "diesel_blog", None),
    blog("SeaORM", Rust("sea-orm", false), "sea_orm_blog", None),
];
