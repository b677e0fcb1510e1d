//! What each account runs.

/// One or several texts, run one after the other in one session.
pub struct Statement {
    /// Prepared and executed.
    pub binary: bool,
    pub texts: &'static [&'static str],
    /// The rights on all of both tables with which it surely goes through the proxy as it goes directly. Without them
    /// the proxy may have to refuse what MySQL allows, for want of a right that its own statements need.
    pub needs: &'static [&'static str],
}

/// An increment, or what concerns no counter: no right beside its own is needed.
const NOTHING: &[&str] = &[];
/// A read.
const READ: &[&str] = &["SELECT"];
/// A statement that is folded for.
const FOLD: &[&str] = &["SELECT", "UPDATE"];

const fn text(needs: &'static [&'static str], texts: &'static [&'static str]) -> Statement {
    Statement {
        binary: false,
        texts,
        needs,
    }
}

const fn binary(needs: &'static [&'static str], texts: &'static [&'static str]) -> Statement {
    Statement {
        binary: true,
        texts,
        needs,
    }
}

/// The columns of the matrix.
pub const ALL: &[Statement] = &[
    text(
        NOTHING,
        &["UPDATE posts SET views = views + 1 WHERE id = 1"],
    ),
    text(
        NOTHING,
        &["UPDATE posts SET likes = likes + 1 WHERE id = 1"],
    ),
    text(
        NOTHING,
        &["UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1"],
    ),
    text(
        NOTHING,
        &["UPDATE posts SET views = views + 1 WHERE id = 1"],
    ),
    binary(
        NOTHING,
        &["UPDATE posts SET views = views + 1 WHERE id = 1"],
    ),
    binary(
        NOTHING,
        &["UPDATE posts SET likes = likes - 1 WHERE id IN (1, 2)"],
    ),
    text(NOTHING, &["UPDATE posts SET views = views + 1"]),
    text(
        NOTHING,
        &["UPDATE posts SET views = views + 1 WHERE title = 'first'"],
    ),
    text(
        NOTHING,
        &["UPDATE posts SET views = views + 1 WHERE id = 77"],
    ),
    text(
        NOTHING,
        &["UPDATE posts SET views = views + 0 WHERE id = 1"],
    ),
    text(FOLD, &["UPDATE posts SET views = 5 WHERE id = 1"]),
    text(FOLD, &["UPDATE posts SET likes = 5"]),
    text(NOTHING, &["UPDATE posts SET title = 'x' WHERE id = 1"]),
    text(FOLD, &["UPDATE posts SET title = 'x' WHERE views > 150"]),
    text(READ, &["SELECT views FROM posts WHERE id = 1"]),
    text(READ, &["SELECT likes FROM posts WHERE id = 1"]),
    text(NOTHING, &["SELECT id, title FROM posts"]),
    text(READ, &["SELECT * FROM posts"]),
    text(NOTHING, &["SELECT COUNT(*) FROM posts"]),
    text(READ, &["SELECT id FROM posts WHERE views > 150"]),
    text(READ, &["SELECT SUM(views) FROM posts"]),
    text(
        FOLD,
        &["SELECT views + 1, COUNT(*) FROM posts GROUP BY views + 1 ORDER BY 1"],
    ),
    text(
        READ,
        &["SELECT id, a.views FROM posts a JOIN posts b USING (id) ORDER BY id"],
    ),
    text(FOLD, &["SELECT views FROM posts WHERE id = 1 FOR UPDATE"]),
    binary(READ, &["SELECT views FROM posts WHERE id = 1"]),
    text(NOTHING, &["INSERT INTO posts (id, title) VALUES (9, 'n')"]),
    text(NOTHING, &["INSERT INTO posts VALUES (9, 'n', 1, 2)"]),
    text(
        FOLD,
        &["INSERT INTO posts (id, views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = views + 1"],
    ),
    text(FOLD, &["REPLACE INTO posts (id, views) VALUES (1, 1)"]),
    text(FOLD, &["DELETE FROM posts WHERE id = 2"]),
    text(FOLD, &["DELETE FROM posts WHERE views > 250"]),
    text(FOLD, &["DELETE FROM posts"]),
    text(
        NOTHING,
        &[
            "BEGIN",
            "UPDATE posts SET views = views + 1 WHERE id = 1",
            "UPDATE posts SET views = views + 1 WHERE id = 1",
            "COMMIT",
        ],
    ),
    text(
        FOLD,
        &[
            "BEGIN",
            "UPDATE posts SET views = views + 1 WHERE id = 1",
            "SELECT views FROM posts WHERE id = 1",
            "UPDATE posts SET likes = likes + 1 WHERE id = 1",
            "ROLLBACK",
        ],
    ),
    text(
        NOTHING,
        &["UPDATE ~.posts SET views = views + 1 WHERE ~.posts.id = 1"],
    ),
    text(READ, &["SELECT views FROM ~.posts WHERE id = 1"]),
];
