//! SeaORM on sqlx: autocommit, and transactions where they are asked for; sqlx prepares every statement.

use blogs::{DAYS, Task, WORKERS, asked, begin, joined, say, stock_of, sum_of};
use chrono::NaiveDate;
use sea_orm::sea_query::{Alias, OnConflict};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectOptions, ConnectionTrait, Database, DatabaseConnection,
    DbErr, EntityTrait, ExprTrait, IntoActiveModel, JoinType, QueryFilter, QueryOrder, QuerySelect,
    RelationTrait, RuntimeErr, Schema, Set, Statement, TransactionTrait, prelude::Expr,
};

mod post {
    use chrono::SubsecRound;
    use sea_orm::entity::prelude::*;
    use sea_orm::{ActiveValue, Set};

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "posts")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        #[sea_orm(column_type = "String(StringLen::N(100))")]
        pub title: String,
        #[sea_orm(default_value = 0)]
        pub views: i32,
        #[sea_orm(default_value = 0)]
        pub likes: i64,
        #[sea_orm(default_value = 0)]
        pub stock: u32,
        pub updated_at: DateTime,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {
        #[sea_orm(has_many = "super::comment::Entity")]
        Comments,
    }

    impl Related<super::comment::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::Comments.def()
        }
    }

    /// A post that is saved has the time of the change.
    #[sea_orm::prelude::async_trait::async_trait]
    impl ActiveModelBehavior for ActiveModel {
        async fn before_save<C: ConnectionTrait>(mut self, _: &C, _: bool) -> Result<Self, DbErr> {
            if let ActiveValue::NotSet | ActiveValue::Unchanged(_) = self.updated_at {
                // The column has whole seconds, and MySQL would round to the next one: a time that CURRENT_TIMESTAMP,
                // which the likes set, has not come to.
                self.updated_at = Set(chrono::Utc::now().naive_utc().trunc_subsecs(0));
            }
            Ok(self)
        }
    }
}

mod comment {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "comments")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub post_id: i32,
        #[sea_orm(column_type = "String(StringLen::N(100))")]
        pub text: String,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {
        #[sea_orm(
            belongs_to = "super::post::Entity",
            from = "Column::PostId",
            to = "super::post::Column::Id"
        )]
        Post,
    }

    impl Related<super::post::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::Post.def()
        }
    }

    impl ActiveModelBehavior for ActiveModel {}
}

mod sign_up {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "sign_ups")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub day: Date,
        #[sea_orm(default_value = 0)]
        pub hits: i32,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

type Done = Result<(), DbErr>;

/// A pool with so many connections.
async fn connect(url: &str, connections: usize) -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections as u32)
        .sqlx_logging(false);
    Database::connect(options).await
}

async fn make(db: &DatabaseConnection) -> Done {
    let schema = Schema::new(db.get_database_backend());
    db.execute(&schema.create_table_from_entity(post::Entity))
        .await?;
    db.execute(&schema.create_table_from_entity(comment::Entity))
        .await?;
    db.execute(&schema.create_table_from_entity(sign_up::Entity))
        .await?;
    for id in 1..=5 {
        let post = post::ActiveModel {
            id: Set(id),
            title: Set(format!("post {id}")),
            stock: Set(stock_of(id)),
            ..Default::default()
        };
        post.insert(db).await?;
    }
    Ok(())
}

async fn add_view(db: &impl ConnectionTrait, id: i32) -> Result<u64, DbErr> {
    let update = post::Entity::update_many()
        .col_expr(post::Column::Views, Expr::col(post::Column::Views).add(1))
        .filter(post::Column::Id.eq(id));
    Ok(update.exec(db).await?.rows_affected)
}

async fn add_likes(db: &impl ConnectionTrait, id: i32, more: i64) -> Result<u64, DbErr> {
    let update = post::Entity::update_many()
        .col_expr(
            post::Column::Likes,
            Expr::col(post::Column::Likes).add(more),
        )
        .filter(post::Column::Id.eq(id));
    Ok(update.exec(db).await?.rows_affected)
}

async fn sell(db: &impl ConnectionTrait, id: i32) -> Result<u64, DbErr> {
    let update = post::Entity::update_many()
        .col_expr(post::Column::Stock, Expr::col(post::Column::Stock).sub(1))
        .filter(post::Column::Id.eq(id))
        .filter(post::Column::Stock.gte(1));
    Ok(update.exec(db).await?.rows_affected)
}

async fn find(db: &impl ConnectionTrait, id: i32) -> Result<post::Model, DbErr> {
    let found = post::Entity::find_by_id(id).one(db).await?;
    Ok(found.expect("it is there"))
}

async fn views(db: &DatabaseConnection) -> Done {
    let mut done = Vec::new();
    for _ in 0..6 {
        done.push(add_view(db, 1).await?);
    }
    say!(joined(done));
    Ok(())
}

async fn likes(db: &DatabaseConnection) -> Done {
    for _ in 0..3 {
        let post = find(db, 2).await?;
        let update = post::Entity::update_many()
            .col_expr(post::Column::Likes, Expr::col(post::Column::Likes).add(2))
            .col_expr(post::Column::UpdatedAt, Expr::current_timestamp())
            .filter(post::Column::Id.eq(post.id));
        let changed = update.exec(db).await?.rows_affected;
        say!(changed, find(db, post.id).await?.likes);
    }
    Ok(())
}

async fn transactions(db: &DatabaseConnection) -> Done {
    for number in 0..2 {
        let transaction = db.begin().await?;
        let comment = comment::ActiveModel {
            post_id: Set(3),
            text: Set(format!("comment {number}")),
            ..Default::default()
        };
        comment.insert(&transaction).await?;
        add_likes(&transaction, 3, 10).await?;
        transaction.commit().await?;
    }
    let transaction = db.begin().await?;
    add_likes(&transaction, 3, 100).await?;
    say!(find(&transaction, 3).await?.likes);
    transaction.rollback().await?;
    let transaction = db.begin().await?;
    // A SAVEPOINT within.
    let savepoint = transaction.begin().await?;
    add_likes(&savepoint, 3, 1000).await?;
    savepoint.rollback().await?;
    transaction.commit().await?;
    let with_comments = post::Entity::find_by_id(3)
        .find_with_related(comment::Entity)
        .order_by_asc(comment::Column::Id);
    for (post, comments) in with_comments.all(db).await? {
        say!(
            post.likes,
            joined(comments.into_iter().map(|comment| comment.text))
        );
    }
    Ok(())
}

async fn stock(db: &DatabaseConnection) -> Done {
    let mut done = Vec::new();
    for _ in 0..8 {
        done.push(sell(db, 1).await?);
    }
    say!(joined(done));
    Ok(())
}

async fn sign_ups(db: &DatabaseConnection) -> Done {
    for day in DAYS {
        let sign_up = sign_up::ActiveModel {
            day: Set(day.parse().expect("a day")),
            hits: Set(1),
        };
        let more = Expr::col(sign_up::Column::Hits).add(1);
        let counted = OnConflict::column(sign_up::Column::Day)
            .value(sign_up::Column::Hits, more)
            .to_owned();
        let insert = sign_up::Entity::insert(sign_up).on_conflict(counted);
        say!(insert.exec_without_returning(db).await?);
    }
    Ok(())
}

async fn sequence(db: &DatabaseConnection) -> Done {
    for _ in 0..3 {
        let update = "UPDATE seq SET id = LAST_INSERT_ID(id + 1)";
        say!(db.execute_unprepared(update).await?.last_insert_id());
    }
    Ok(())
}

async fn edit(db: &DatabaseConnection) -> Done {
    let mut post = find(db, 4).await?.into_active_model();
    post.title = Set("Grüße, 漢字 😀".to_owned());
    let saved = post.update(db).await?;
    say!(saved.title, saved.views);
    Ok(())
}

async fn reads(db: &DatabaseConnection) -> Done {
    let popular = post::Entity::find()
        .order_by_desc(post::Column::Views)
        .order_by_asc(post::Column::Id)
        .limit(3);
    for post in popular.all(db).await? {
        say!(post.id, post.title, post.views, post.likes, post.stock);
    }
    let sum = post::Column::Views.sum().cast_as(Alias::new("SIGNED"));
    let sums: Option<(i64, i64, i64)> = post::Entity::find()
        .select_only()
        .column_as(post::Column::Id.count(), "number")
        .column_as(sum, "views")
        .column_as(post::Column::Likes.max(), "likes")
        .into_tuple()
        .one(db)
        .await?;
    say!(format!("{sums:?}"));
    let liked: Vec<i32> = post::Entity::find()
        .filter(post::Column::Likes.gt(1))
        .order_by_asc(post::Column::Id)
        .select_only()
        .column(post::Column::Id)
        .into_tuple()
        .all(db)
        .await?;
    say!(joined(liked));
    let counted: Vec<(i32, i32, i64)> = post::Entity::find()
        .join(JoinType::LeftJoin, post::Relation::Comments.def())
        .group_by(post::Column::Id)
        .group_by(post::Column::Views)
        .order_by_asc(post::Column::Id)
        .select_only()
        .columns([post::Column::Id, post::Column::Views])
        .column_as(comment::Column::Id.count(), "comments")
        .into_tuple()
        .all(db)
        .await?;
    say!(format!("{counted:?}"));
    let signed: Vec<(NaiveDate, i32)> = sign_up::Entity::find()
        .order_by_asc(sign_up::Column::Day)
        .select_only()
        .columns([sign_up::Column::Day, sign_up::Column::Hits])
        .into_tuple()
        .all(db)
        .await?;
    say!(format!("{signed:?}"));
    Ok(())
}

/// Says how the database refuses it.
fn refused<T>(attempt: Result<T, DbErr>) {
    let error = attempt.err().expect("it is refused");
    match &error {
        DbErr::Exec(RuntimeErr::SqlxError(told)) | DbErr::Query(RuntimeErr::SqlxError(told)) => {
            say!(told)
        }
        other => say!(format!("{other:?}")),
    }
}

async fn errors(db: &DatabaseConnection) -> Done {
    let again = post::ActiveModel {
        id: Set(1),
        title: Set("again".to_owned()),
        ..Default::default()
    };
    refused(again.insert(db).await);
    let less = Expr::col(post::Column::Stock).sub(1);
    let update = post::Entity::update_many()
        .col_expr(post::Column::Stock, less)
        .filter(post::Column::Id.eq(2));
    refused(update.exec(db).await);
    refused(
        db.execute_unprepared("SELECT views, nothing FROM posts")
            .await,
    );
    Ok(())
}

async fn reconnect(db: &mut DatabaseConnection, url: &str) -> Done {
    db.execute_unprepared("SET @mine = 1").await?;
    db.clone().close().await?;
    *db = connect(url, 1).await?;
    let query = "SELECT @mine AS mine, views FROM posts WHERE id = 1";
    let query = Statement::from_string(db.get_database_backend(), query);
    let row = db.query_one_raw(query).await?.expect("it is there");
    let mine: Option<Vec<u8>> = row.try_get("", "mine")?;
    let views: i32 = row.try_get("", "views")?;
    say!(format!("{mine:?}"), views);
    Ok(())
}

/// What four tasks do.
macro_rules! in_crowd {
    ($db:expr, $count:literal, $work:ident) => {{
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..WORKERS {
            let db = $db.clone();
            workers.spawn(async move {
                let mut done = Vec::new();
                for _ in 0..$count {
                    done.push($work(&db, 3).await?);
                }
                Ok::<_, DbErr>(done)
            });
        }
        let done: Result<Vec<_>, DbErr> = workers.join_all().await.into_iter().collect();
        sum_of(&done?.concat())
    }};
}

async fn play(url: &str) -> Done {
    // One connection, so that what a transaction shows of its kind is known before the next one begins.
    let mut db = connect(url, 1).await?;
    macro_rules! steps {
        ($($step:ident),+) => {
            $(
                begin(stringify!($step));
                $step(&db).await?;
            )+
        };
    }
    steps!(
        views,
        likes,
        transactions,
        stock,
        sign_ups,
        sequence,
        edit,
        reads,
        errors
    );
    begin("reconnect");
    reconnect(&mut db, url).await?;
    begin("crowd");
    let db = connect(url, WORKERS).await?;
    say!(in_crowd!(db, 10, add_view), in_crowd!(db, 5, sell));
    println!("finished");
    db.close().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let (task, url) = asked("sea-orm", "sqlx");
    match task {
        Task::Make => make(&connect(&url, 1).await?).await,
        Task::Play => play(&url).await,
    }
}
