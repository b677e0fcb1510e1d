//! The libraries of the matrix.

use countersink_sandbox::Flavour;

/// How a library's program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A script for the interpreter with the packages of a list.
    Python(&'static str),
    /// The same with packages that are compiled with libmariadb where they are installed.
    PythonWithLibmariadb,
    /// A script for Node.js.
    Node,
    /// A script for PHP, with an extension.
    Php(&'static str),
    /// A script for Ruby, with a library.
    Ruby(&'static str),
    /// A script for Perl, with a module.
    Perl(&'static str),
    /// A C program with libmariadb.
    C,
    /// A Go program with the library of Debian.
    Go,
    /// A Java program with the library of Debian.
    Java,
    /// A module of this test.
    MysqlAsync,
}

/// A library, or one of its ways to connect.
#[derive(Debug)]
pub struct Library {
    /// As the table and the pages name it.
    pub name: &'static str,
    pub kind: Kind,
    /// The file in tests/clients/matrix that plays the blog.
    pub source: &'static str,
    /// What the program calls it.
    pub driver: &'static str,
    /// Whether it plays in every run, rather than only where everything is asked for.
    pub is_of_every_run: bool,
    /// Whether CI must have it.
    pub is_always_there: bool,
    /// Counted otherwise than for other libraries.
    pub unlike: &'static [(Unlike, &'static [Flavour])],
}

/// Where a library's statements become something else than those of the others; docs/clients.md says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlike {
    /// It sends the rows of a bulk increment in one COM_STMT_BULK_EXECUTE.
    Bulk,
    /// It binds numbers so that adding them to a BIGINT is no exact sum.
    InexactBound,
    /// It writes the parameters into the text itself, numbers too in quotes.
    QuotedNumbers,
}

const fn library(
    name: &'static str,
    kind: Kind,
    source: &'static str,
    driver: &'static str,
) -> Library {
    Library {
        name,
        kind,
        source,
        driver,
        is_of_every_run: false,
        is_always_there: matches!(kind, Kind::Python(_) | Kind::Node | Kind::MysqlAsync),
        unlike: &[],
    }
}

impl Library {
    const fn of_every_run(self) -> Self {
        Self {
            is_of_every_run: true,
            ..self
        }
    }

    const fn unlike(self, unlike: &'static [(Unlike, &'static [Flavour])]) -> Self {
        Self { unlike, ..self }
    }

    /// In what it is unlike others before a server of this family.
    pub fn unlike_at(&self, flavour: Flavour) -> Vec<Unlike> {
        let at = self.unlike.iter().filter(|(_, at)| at.contains(&flavour));
        at.map(|(unlike, _)| *unlike).collect()
    }
}

use Flavour::{MariaDb, MySql};
use Kind::{C, Go, Java, Node, Perl, Php, Python, PythonWithLibmariadb, Ruby};
use Unlike::{Bulk, InexactBound, QuotedNumbers};

/// All of them.
pub const LIBRARIES: &[Library] = &[
    library(
        "Python PyMySQL",
        Python("requirements"),
        "blog.py",
        "PyMySQL",
    )
    .of_every_run(),
    library(
        "Python mysql-connector-python",
        Python("requirements"),
        "blog.py",
        "connector",
    )
    .of_every_run(),
    library(
        "Python mysql-connector-python, pure",
        Python("requirements"),
        "blog.py",
        "connector-pure",
    ),
    library(
        "Python mysql-connector-python, compressed",
        Python("requirements"),
        "blog.py",
        "connector-compressed",
    ),
    library(
        "Python mysql-connector-python, pure, compressed",
        Python("requirements"),
        "blog.py",
        "connector-pure-compressed",
    ),
    library(
        "Python mysqlclient, compressed",
        PythonWithLibmariadb,
        "blog.py",
        "mysqlclient-compressed",
    ),
    library(
        "Python mysqlclient",
        PythonWithLibmariadb,
        "blog.py",
        "mysqlclient",
    ),
    library("Python mariadb", PythonWithLibmariadb, "blog.py", "mariadb")
        .unlike(&[(Bulk, &[MariaDb])]),
    library("Python aiomysql", Python("aiomysql"), "blog.py", "aiomysql"),
    library(
        "Python asyncmy",
        Python("requirements"),
        "blog.py",
        "asyncmy",
    ),
    library("Node.js mysql2", Node, "blog.js", "mysql2")
        .of_every_run()
        .unlike(&[(InexactBound, &[MariaDb])]),
    library(
        "Node.js mariadb, compressed",
        Node,
        "blog.js",
        "mariadb-compressed",
    )
    .unlike(&[(Bulk, &[MariaDb])]),
    library("Node.js mariadb", Node, "blog.js", "mariadb")
        .of_every_run()
        .unlike(&[(Bulk, &[MariaDb])]),
    library("PHP mysqli", Php("mysqli"), "blog.php", "mysqli").of_every_run(),
    library(
        "PHP mysqli, compressed",
        Php("mysqli"),
        "blog.php",
        "mysqli-compressed",
    ),
    library("PHP PDO", Php("pdo_mysql"), "blog.php", "pdo").unlike(&[
        (QuotedNumbers, &[MySql, MariaDb]),
        (InexactBound, &[MySql, MariaDb]),
    ]),
    library(
        "PHP PDO, prepared by the server",
        Php("pdo_mysql"),
        "blog.php",
        "pdo-prepared",
    )
    .unlike(&[(InexactBound, &[MySql, MariaDb])]),
    library("Ruby mysql2", Ruby("mysql2"), "blog.rb", "mysql2"),
    library("Perl DBD::mysql", Perl("DBD::mysql"), "blog.pl", "mysql").unlike(&[
        (QuotedNumbers, &[MySql, MariaDb]),
        (InexactBound, &[MySql, MariaDb]),
    ]),
    library(
        "Perl DBD::mysql, prepared by the server",
        Perl("DBD::mysql"),
        "blog.pl",
        "mysql-prepared",
    )
    .unlike(&[(InexactBound, &[MySql, MariaDb])]),
    library(
        "Perl DBD::MariaDB",
        Perl("DBD::MariaDB"),
        "blog.pl",
        "MariaDB",
    )
    .unlike(&[
        (QuotedNumbers, &[MySql, MariaDb]),
        (InexactBound, &[MySql, MariaDb]),
    ]),
    library("C libmariadb", C, "blog.c", "libmariadb").of_every_run(),
    library("Go go-sql-driver/mysql", Go, "blog.go", "prepared").of_every_run(),
    library(
        "Go go-sql-driver/mysql, interpolated",
        Go,
        "blog.go",
        "interpolated",
    ),
    library("Java MariaDB Connector/J", Java, "Blog.java", "text"),
    library(
        "Java MariaDB Connector/J, compressed",
        Java,
        "Blog.java",
        "compressed",
    ),
    library(
        "Java MariaDB Connector/J, prepared by the server",
        Java,
        "Blog.java",
        "prepared",
    ),
    library(
        "Rust mysql_async",
        Kind::MysqlAsync,
        "blog.rs",
        "mysql_async",
    )
    .of_every_run()
    .unlike(&[(Bulk, &[MariaDb])]),
];
