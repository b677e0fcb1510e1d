//! diesel on libmysqlclient or libmariadb: autocommit, and transactions where they are asked for.

use blogs::{DAYS, Task, WORKERS, asked, begin, joined, say, stock_of, sum_of};
use chrono::{NaiveDate, NaiveDateTime};
use diesel::connection::SimpleConnection;
use diesel::dsl::{DuplicatedKeys, count, max, now, sum};
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Nullable};

diesel::table! {
    posts (id) {
        id -> Integer,
        title -> VarChar,
        views -> Integer,
        likes -> BigInt,
        stock -> Unsigned<Integer>,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    comments (id) {
        id -> Integer,
        post_id -> Integer,
        text -> VarChar,
    }
}

diesel::table! {
    sign_ups (day) {
        day -> Date,
        hits -> Integer,
    }
}

diesel::joinable!(comments -> posts (post_id));
diesel::allow_tables_to_appear_in_same_query!(posts, comments);

#[diesel::declare_sql_function]
extern "SQL" {
    fn last_insert_id() -> Unsigned<BigInt>;
}

/// What migrations would contain.
const TABLES: &str = "
    CREATE TABLE posts (
        id INT PRIMARY KEY,
        title VARCHAR(100) NOT NULL,
        views INT NOT NULL DEFAULT 0,
        likes BIGINT NOT NULL DEFAULT 0,
        stock INT UNSIGNED NOT NULL DEFAULT 0,
        updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
    );
    CREATE TABLE comments (
        id INT AUTO_INCREMENT PRIMARY KEY,
        post_id INT NOT NULL REFERENCES posts (id),
        text VARCHAR(100) NOT NULL
    );
    CREATE TABLE sign_ups (day DATE PRIMARY KEY, hits INT NOT NULL DEFAULT 0);
";

#[derive(Queryable, Selectable)]
struct Post {
    id: i32,
    title: String,
    views: i32,
    likes: i64,
    stock: u32,
    #[expect(dead_code, reason = "it is another time each time")]
    updated_at: NaiveDateTime,
}

/// What is set when a title is edited.
#[derive(AsChangeset, Identifiable)]
#[diesel(table_name = posts)]
struct Edited<'a> {
    id: i32,
    title: &'a str,
}

#[derive(Insertable)]
#[diesel(table_name = comments)]
struct NewComment {
    post_id: i32,
    text: String,
}

#[derive(QueryableByName)]
struct Mine {
    #[diesel(sql_type = Nullable<BigInt>)]
    mine: Option<i64>,
    #[diesel(sql_type = BigInt)]
    views: i64,
}

type Done = Result<(), Error>;
type Step = fn(&mut MysqlConnection) -> Done;

fn connect(url: &str) -> MysqlConnection {
    MysqlConnection::establish(url).expect("a connection")
}

fn add_view(db: &mut MysqlConnection, id: i32) -> QueryResult<usize> {
    let post = posts::table.find(id);
    diesel::update(post)
        .set(posts::views.eq(posts::views + 1))
        .execute(db)
}

fn add_likes(db: &mut MysqlConnection, id: i32, more: i64) -> QueryResult<usize> {
    diesel::update(posts::table.find(id))
        .set(posts::likes.eq(posts::likes + more))
        .execute(db)
}

fn sell(db: &mut MysqlConnection, id: i32) -> QueryResult<usize> {
    diesel::update(posts::table.find(id).filter(posts::stock.ge(1)))
        .set(posts::stock.eq(posts::stock - 1))
        .execute(db)
}

fn likes_of(db: &mut MysqlConnection, id: i32) -> QueryResult<i64> {
    posts::table.find(id).select(posts::likes).first(db)
}

/// Calls it so often.
fn times<T>(count: usize, mut work: impl FnMut() -> QueryResult<T>) -> QueryResult<Vec<T>> {
    (0..count).map(|_| work()).collect()
}

fn make(db: &mut MysqlConnection) -> Done {
    db.batch_execute(TABLES)?;
    let rows: Vec<_> = (1..=5)
        .map(|id| {
            let title = posts::title.eq(format!("post {id}"));
            (posts::id.eq(id), title, posts::stock.eq(stock_of(id)))
        })
        .collect();
    diesel::insert_into(posts::table).values(rows).execute(db)?;
    Ok(())
}

fn views(db: &mut MysqlConnection) -> Done {
    say!(joined(times(6, || add_view(db, 1))?));
    Ok(())
}

fn likes(db: &mut MysqlConnection) -> Done {
    for _ in 0..3 {
        let post: Post = posts::table.find(2).select(Post::as_select()).first(db)?;
        let changed = diesel::update(posts::table.find(post.id))
            .set((posts::likes.eq(posts::likes + 2), posts::updated_at.eq(now)))
            .execute(db)?;
        say!(changed, likes_of(db, post.id)?);
    }
    Ok(())
}

fn transactions(db: &mut MysqlConnection) -> Done {
    for number in 0..2 {
        db.transaction(|db| {
            let text = format!("comment {number}");
            let comment = NewComment { post_id: 3, text };
            diesel::insert_into(comments::table)
                .values(comment)
                .execute(db)?;
            add_likes(db, 3, 10)
        })?;
    }
    let undone: Done = db.transaction(|db| {
        add_likes(db, 3, 100)?;
        say!(likes_of(db, 3)?);
        Err(Error::RollbackTransaction)
    });
    say!(format!("{undone:?}"));
    db.transaction(|db| {
        // A SAVEPOINT within.
        let undone: Done = db.transaction(|db| {
            add_likes(db, 3, 1000)?;
            Err(Error::RollbackTransaction)
        });
        say!(format!("{undone:?}"));
        Ok::<_, Error>(())
    })?;
    let texts: Vec<String> = comments::table
        .filter(comments::post_id.eq(3))
        .order(comments::id)
        .select(comments::text)
        .load(db)?;
    say!(likes_of(db, 3)?, joined(texts));
    Ok(())
}

fn stock(db: &mut MysqlConnection) -> Done {
    say!(joined(times(8, || sell(db, 1))?));
    Ok(())
}

fn sign_up(db: &mut MysqlConnection) -> Done {
    for day in DAYS {
        let day: NaiveDate = day.parse().expect("a day");
        let changed = diesel::insert_into(sign_ups::table)
            .values((sign_ups::day.eq(day), sign_ups::hits.eq(1)))
            .on_conflict(DuplicatedKeys)
            .do_update()
            .set(sign_ups::hits.eq(sign_ups::hits + 1))
            .execute(db)?;
        say!(changed);
    }
    Ok(())
}

fn sequence(db: &mut MysqlConnection) -> Done {
    for _ in 0..3 {
        sql_query("UPDATE seq SET id = LAST_INSERT_ID(id + 1)").execute(db)?;
        let id: u64 = diesel::select(last_insert_id()).get_result(db)?;
        say!(id);
    }
    Ok(())
}

fn edit(db: &mut MysqlConnection) -> Done {
    let post: Post = posts::table.find(4).select(Post::as_select()).first(db)?;
    let edited = Edited {
        id: post.id,
        title: "Grüße, 漢字 😀",
    };
    let saved: Post = edited.save_changes(db)?;
    say!(saved.title, saved.views);
    Ok(())
}

fn reads(db: &mut MysqlConnection) -> Done {
    let popular: Vec<Post> = posts::table
        .order((posts::views.desc(), posts::id))
        .limit(3)
        .select(Post::as_select())
        .load(db)?;
    for Post {
        id,
        title,
        views,
        likes,
        stock,
        ..
    } in popular
    {
        say!(id, title, views, likes, stock);
    }
    let sums: (i64, Option<i64>, Option<i64>) = posts::table
        .select((count(posts::id), sum(posts::views), max(posts::likes)))
        .first(db)?;
    say!(format!("{sums:?}"));
    let liked: Vec<i32> = posts::table
        .filter(posts::likes.gt(1))
        .order(posts::id)
        .select(posts::id)
        .load(db)?;
    say!(joined(liked));
    let counted: Vec<(i32, i32, i64)> = posts::table
        .left_join(comments::table)
        .group_by((posts::id, posts::views))
        .order(posts::id)
        .select((posts::id, posts::views, count(comments::id.nullable())))
        .load(db)?;
    say!(format!("{counted:?}"));
    let signed: Vec<(NaiveDate, i32)> = sign_ups::table.order(sign_ups::day).load(db)?;
    say!(format!("{signed:?}"));
    Ok(())
}

/// Says how the database refuses it.
fn refused(refused: QueryResult<usize>) {
    match refused {
        Err(Error::DatabaseError(kind, told)) => say!(format!("{kind:?}"), told.message()),
        other => say!(format!("{other:?}")),
    }
}

fn errors(db: &mut MysqlConnection) -> Done {
    let again = (posts::id.eq(1), posts::title.eq("again"));
    refused(diesel::insert_into(posts::table).values(again).execute(db));
    let less = posts::stock.eq(posts::stock - 1);
    refused(diesel::update(posts::table.find(2)).set(less).execute(db));
    refused(sql_query("SELECT views, nothing FROM posts").execute(db));
    Ok(())
}

fn reconnect(db: &mut MysqlConnection, url: &str) -> Done {
    sql_query("SET @mine = 1").execute(db)?;
    *db = connect(url);
    let query = "SELECT @mine AS mine, CAST(views AS SIGNED) AS views FROM posts WHERE id = 1";
    let Mine { mine, views } = sql_query(query).get_result(db)?;
    say!(format!("{mine:?}"), views);
    Ok(())
}

/// What four threads do, each on a connection of its own.
fn in_crowd(
    url: &str,
    count: usize,
    work: fn(&mut MysqlConnection, i32) -> QueryResult<usize>,
) -> String {
    let workers = (0..WORKERS).map(|_| {
        let url = url.to_owned();
        std::thread::spawn(move || {
            let mut db = connect(&url);
            times(count, || work(&mut db, 3))
        })
    });
    let workers: Vec<_> = workers.collect();
    let done = workers.into_iter().flat_map(|worker| {
        let done = worker.join().expect("it has not panicked");
        done.expect("all of it is done")
    });
    let done: Vec<_> = done.map(|one| one as u64).collect();
    sum_of(&done)
}

fn play(url: &str) -> Done {
    let db = &mut connect(url);
    let steps: [(&str, Step); 9] = [
        ("views", views),
        ("likes", likes),
        ("transactions", transactions),
        ("stock", stock),
        ("sign_ups", sign_up),
        ("sequence", sequence),
        ("edit", edit),
        ("reads", reads),
        ("errors", errors),
    ];
    for (name, step) in steps {
        begin(name);
        step(db)?;
    }
    begin("reconnect");
    reconnect(db, url)?;
    begin("crowd");
    say!(in_crowd(url, 10, add_view), in_crowd(url, 5, sell));
    println!("finished");
    Ok(())
}

fn main() {
    let (task, url) = asked("diesel", "mysqlclient-sys");
    let done = match task {
        Task::Make => make(&mut connect(&url)),
        Task::Play => play(&url),
    };
    done.expect("all of it is done");
}
