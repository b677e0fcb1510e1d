/* The blog of tests/clients/matrix/mod.rs, with libmariadb.
 *
 *     blog DRIVER HOST PORT USER PASSWORD SCHEMA
 *
 * With DRIVER alone it prints the library's version.
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE (3u << 20)
#define LINE "Zeile 漢字 😀\n"
#define LINES 50000

static char **address;

static MYSQL *connect_to_server(void)
{
    MYSQL *mysql = mysql_init(NULL);
    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!mysql_real_connect(mysql, address[0], address[2], address[3], address[4], (unsigned)atoi(address[1]), NULL,
                            CLIENT_MULTI_STATEMENTS)) {
        fprintf(stderr, "%s\n", mysql_error(mysql));
        exit(1);
    }
    return mysql;
}

static void fail(const char *what, const char *error)
{
    fprintf(stderr, "%s: %s\n", what, error);
    exit(1);
}

static unsigned long long run(MYSQL *mysql, const char *statement)
{
    if (mysql_query(mysql, statement))
        fail(statement, mysql_error(mysql));
    return mysql_affected_rows(mysql);
}

static MYSQL_STMT *prepare(MYSQL *mysql, const char *statement)
{
    MYSQL_STMT *prepared = mysql_stmt_init(mysql);
    if (mysql_stmt_prepare(prepared, statement, strlen(statement)))
        fail(statement, mysql_stmt_error(prepared));
    return prepared;
}

/* Values of a prepared statement: numbers for `i`, texts for `s`, NULL for `n`. */
struct value {
    char kind;
    long long number;
    const char *text;
};

static unsigned long long execute(MYSQL_STMT *prepared, const struct value *values)
{
    MYSQL_BIND binds[4];
    memset(binds, 0, sizeof binds);
    for (unsigned i = 0; i < mysql_stmt_param_count(prepared); i++) {
        binds[i].buffer_type = values[i].kind == 'i' ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_STRING;
        binds[i].buffer = values[i].kind == 'i' ? (void *)&values[i].number : (void *)values[i].text;
        if (values[i].kind == 's')
            binds[i].buffer_length = strlen(values[i].text);
        if (values[i].kind == 'n')
            binds[i].buffer_type = MYSQL_TYPE_NULL;
    }
    if (mysql_stmt_bind_param(prepared, binds) || mysql_stmt_execute(prepared))
        fail("execute", mysql_stmt_error(prepared));
    return mysql_stmt_affected_rows(prepared);
}

static void repeat(MYSQL *mysql, const char *step, const char *statement, const struct value *values, int times)
{
    MYSQL_STMT *prepared = prepare(mysql, statement);
    printf("%s:", step);
    for (int i = 0; i < times; i++)
        printf(" %llu", execute(prepared, values));
    printf("\n");
    mysql_stmt_close(prepared);
}

static void show_row(MYSQL_ROW row, unsigned fields)
{
    for (unsigned i = 0; i < fields; i++)
        printf("%s%s", i ? "|" : " ", row[i] ? row[i] : "NULL");
}

/* The rows of a query, behind what is on the line already. */
static void show(MYSQL *mysql, const char *query)
{
    run(mysql, query);
    MYSQL_RES *result = mysql_store_result(mysql);
    for (MYSQL_ROW row; (row = mysql_fetch_row(result));)
        show_row(row, mysql_num_fields(result));
    mysql_free_result(result);
}

static void line(MYSQL *mysql, const char *step, const char *query)
{
    printf("%s:", step);
    show(mysql, query);
    printf("\n");
}

/* The rows of a prepared query, as text; with a cursor if there is a number of rows to fetch at a time. */
static unsigned show_prepared(MYSQL *mysql, const char *query, const struct value *values, unsigned long fetched)
{
    MYSQL_STMT *prepared = prepare(mysql, query);
    if (fetched) {
        unsigned long cursor = CURSOR_TYPE_READ_ONLY;
        mysql_stmt_attr_set(prepared, STMT_ATTR_CURSOR_TYPE, &cursor);
        mysql_stmt_attr_set(prepared, STMT_ATTR_PREFETCH_ROWS, &fetched);
    }
    execute(prepared, values);
    char buffers[8][200];
    unsigned long lengths[8];
    my_bool nulls[8];
    MYSQL_BIND binds[8];
    memset(binds, 0, sizeof binds);
    unsigned fields = mysql_stmt_field_count(prepared), count = 0;
    for (unsigned i = 0; i < fields; i++)
        binds[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING, .buffer = buffers[i], .buffer_length = 199,
                                .length = &lengths[i], .is_null = &nulls[i]};
    mysql_stmt_bind_result(prepared, binds);
    for (; !mysql_stmt_fetch(prepared); count++) {
        for (unsigned i = 0; i < fields && count < 8; i++)
            printf("%s%.*s", i ? "|" : " ", nulls[i] ? 4 : (int)lengths[i], nulls[i] ? "NULL" : buffers[i]);
    }
    if (mysql_stmt_errno(prepared))
        fail(query, mysql_stmt_error(prepared));
    mysql_stmt_close(prepared);
    return count;
}

static void increments(MYSQL *mysql)
{
    printf("text:");
    for (int i = 0; i < 10; i++)
        printf(" %llu", run(mysql, "UPDATE posts SET views = views + 1 WHERE id = 1"));
    printf("\n");
    repeat(mysql, "prepared", "UPDATE posts SET views = views + 1 WHERE id = ?", (struct value[]){{'i', 1}}, 5);
    repeat(mysql, "bound", "UPDATE posts SET likes = likes + ? WHERE id = ?", (struct value[]){{'i', 2}, {'i', 1}}, 3);
    MYSQL_STMT *prepared = prepare(mysql, "UPDATE posts SET views = views + ? WHERE id = ?");
    execute(prepared, (struct value[]){{'i', 1}, {'i', 5}});
    execute(prepared, (struct value[]){{'i', 2}, {'i', 6}});
    execute(prepared, (struct value[]){{'i', 3}, {'i', 5}});
    mysql_stmt_close(prepared);
    line(mysql, "bulk", "SELECT SUM(views) FROM posts WHERE id IN (5, 6)");
}

static void transactions(MYSQL *mysql)
{
    mysql_autocommit(mysql, 0);
    unsigned long long committed = run(mysql, "UPDATE posts SET likes = likes + 10 WHERE id = 1");
    mysql_commit(mysql);
    unsigned long long rolled_back = run(mysql, "UPDATE posts SET likes = likes + 100 WHERE id = 1");
    mysql_rollback(mysql);
    printf("transactions: %llu %llu", committed, rolled_back);
    show(mysql, "SELECT likes FROM posts WHERE id = 1");
    mysql_commit(mysql);
    run(mysql, "UPDATE posts SET views = views + 1 WHERE id = 4");
    printf("\nwithin:");
    show(mysql, "SELECT views FROM posts WHERE id = 4");
    mysql_rollback(mysql);
    show(mysql, "SELECT views FROM posts WHERE id = 4");
    printf("\n");
    mysql_commit(mysql);
    mysql_autocommit(mysql, 1);
}

static void other_writes(MYSQL *mysql)
{
    repeat(mysql, "guarded", "UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1",
           (struct value[]){{'i', 1}}, 8);
    MYSQL_STMT *upsert = prepare(mysql, "INSERT INTO sign_ups (day, hits) VALUES (?, 1) "
                                        "ON DUPLICATE KEY UPDATE hits = hits + 1");
    printf("upserts:");
    for (int i = 0; i < 5; i++)
        printf(" %llu", execute(upsert, (struct value[]){{'s', 0, i < 3 ? "2026-11-22" : "2026-11-23"}}));
    mysql_stmt_close(upsert);
    printf("\nset: %llu", run(mysql, "UPDATE posts SET views = views + 1 WHERE id = 8"));
    MYSQL_STMT *set = prepare(mysql, "UPDATE posts SET body = ?, views = 5 WHERE id = ?");
    printf(" %llu", execute(set, (struct value[]){{'n'}, {'i', 8}}));
    mysql_stmt_close(set);
    show(mysql, "SELECT views FROM posts WHERE id = 8");
    printf("\nsequence:");
    for (int i = 0; i < 3; i++) {
        run(mysql, "UPDATE seq SET id = LAST_INSERT_ID(id + 1)");
        printf(" %llu", (unsigned long long)mysql_insert_id(mysql));
    }
    printf("\n");
}

static void reads(MYSQL *mysql)
{
    line(mysql, "row", "SELECT id, title, body, views, likes, stock, price FROM posts WHERE id = 1");
    printf("prepared row:");
    show_prepared(mysql, "SELECT id, title, body, views, likes, stock, price FROM posts WHERE id = ?",
                  (struct value[]){{'i', 1}}, 0);
    printf("\n");
    line(mysql, "list", "SELECT id, title, views FROM posts WHERE id <= 5 ORDER BY views DESC, id");
    printf("cursor:");
    unsigned count = show_prepared(mysql, "SELECT id, title, views FROM posts WHERE id > ? ORDER BY id",
                                   (struct value[]){{'i', 9900}}, 30);
    printf(" %u\n", count);
    line(mysql, "sum", "SELECT COUNT(*), SUM(views), MAX(likes) FROM posts");
    line(mysql, "days", "SELECT CAST(day AS CHAR), hits FROM sign_ups ORDER BY day");
    run(mysql, "SELECT posts.*, views + 1 FROM posts WHERE id = 1");
    MYSQL_RES *result = mysql_store_result(mysql);
    for (MYSQL_FIELD *field; (field = mysql_fetch_field(result));)
        printf("column: %s.%s.%s as %s.%s type %d length %lu flags %u decimals %u charset %u\n", field->db,
               field->org_table, field->org_name, field->table, field->name, field->type, field->length, field->flags,
               field->decimals, field->charsetnr);
    mysql_free_result(result);
}

static void unicode(MYSQL *mysql)
{
    MYSQL_STMT *insert = prepare(mysql, "INSERT INTO posts (id, title, body) VALUES (20001, ?, ?)");
    printf("unicode: %llu", execute(insert, (struct value[]){{'s', 0, "Ångström’s 😀"}, {'n'}}));
    mysql_stmt_close(insert);
    show_prepared(mysql, "SELECT id, title, body, views FROM posts WHERE title = ?",
                  (struct value[]){{'s', 0, "Ångström’s 😀"}}, 0);
    MYSQL_STMT *delete = prepare(mysql, "DELETE FROM posts WHERE id = ?");
    printf(" %llu\n", execute(delete, (struct value[]){{'i', 20001}}));
    mysql_stmt_close(delete);
}

/* A large value goes ahead of its statement, in pieces, and comes back as it went. */
static void large(MYSQL *mysql)
{
    char *picture = malloc(PICTURE), *body = malloc(sizeof LINE * LINES);
    unsigned long length = 0;
    for (unsigned i = 0; i < PICTURE; i++)
        picture[i] = (char)(i % 256);
    for (int i = 0; i < LINES; i++, length += sizeof LINE - 1)
        memcpy(body + length, LINE, sizeof LINE - 1);
    MYSQL_STMT *update = prepare(mysql, "UPDATE posts SET picture = ?, body = ? WHERE id = 2");
    MYSQL_BIND binds[2];
    memset(binds, 0, sizeof binds);
    binds[0].buffer_type = MYSQL_TYPE_LONG_BLOB;
    binds[1].buffer_type = MYSQL_TYPE_STRING;
    mysql_stmt_bind_param(update, binds);
    for (unsigned at = 0; at < PICTURE; at += 1u << 20)
        mysql_stmt_send_long_data(update, 0, picture + at, 1u << 20);
    mysql_stmt_send_long_data(update, 1, body, length);
    if (mysql_stmt_execute(update))
        fail("large", mysql_stmt_error(update));
    mysql_stmt_close(update);
    run(mysql, "SELECT picture, body, views FROM posts WHERE id = 2");
    MYSQL_RES *result = mysql_store_result(mysql);
    MYSQL_ROW row = mysql_fetch_row(result);
    unsigned long *lengths = mysql_fetch_lengths(result);
    int equal = lengths[0] == PICTURE && lengths[1] == length && !memcmp(row[0], picture, PICTURE) &&
                !memcmp(row[1], body, length);
    printf("came back: %s\nlarge: %lu %lu %s", equal ? "equal" : "other", lengths[0], lengths[1], row[2]);
    mysql_free_result(result);
    show(mysql, "SELECT SHA2(picture, 256) FROM posts WHERE id = 2");
    show(mysql, "SELECT SHA2(body, 256) FROM posts WHERE id = 2");
    printf("\n");
    free(picture);
    free(body);
}

static void stream(MYSQL *mysql)
{
    run(mysql, "SELECT id, title, views FROM posts WHERE id > 10 ORDER BY id");
    MYSQL_RES *result = mysql_use_result(mysql);
    unsigned long long count = 0, total = 0, letters = 0;
    for (MYSQL_ROW row; (row = mysql_fetch_row(result)); count++) {
        total += strtoull(row[0], NULL, 10) * strtoull(row[2], NULL, 10);
        letters += strlen(row[1]);
    }
    mysql_free_result(result);
    printf("stream: %llu %llu %llu\n", count, total, letters);
}

static void errors(MYSQL *mysql)
{
    const char *statements[] = {
        "INSERT INTO posts (id, title) VALUES (1, 'again')",
        "UPDATE posts SET views = views + WHERE id = 1",
        "UPDATE posts SET views = views + 1, nothing = 1 WHERE id = 1",
        "SELECT views, nothing FROM posts",
        "UPDATE posts SET stock = stock - 1 WHERE id = 1",
    };
    unsigned codes[5];
    for (int i = 0; i < 5; i++) {
        mysql_query(mysql, statements[i]);
        codes[i] = mysql_errno(mysql);
        printf("error: %u %s %s\n", codes[i], mysql_sqlstate(mysql), mysql_error(mysql));
    }
    printf("errors: %u %u %u %u %u\n", codes[0], codes[1], codes[2], codes[3], codes[4]);
}

static void warnings(MYSQL *mysql)
{
    unsigned long long changed = run(mysql, "UPDATE posts SET price = '1.239' WHERE id = 7");
    printf("told: %llu %u %s\n", changed, mysql_warning_count(mysql), mysql_info(mysql));
    line(mysql, "cast", "SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1");
    printf("warned: %u\n", mysql_warning_count(mysql));
    run(mysql, "SHOW WARNINGS");
    MYSQL_RES *result = mysql_store_result(mysql);
    MYSQL_ROW row = mysql_fetch_row(result);
    printf("warning: %s\nmessage: %s\n", row[1], row[2]);
    mysql_free_result(result);
}

static void several(MYSQL *mysql)
{
    run(mysql, "SELECT views FROM posts WHERE id = 1; DO 0; SELECT title FROM posts WHERE id = 5; "
               "SELECT COUNT(*) FROM seq");
    printf("several:");
    do {
        MYSQL_RES *result = mysql_store_result(mysql);
        if (result) {
            show_row(mysql_fetch_row(result), mysql_num_fields(result));
            mysql_free_result(result);
        } else {
            printf(" %llu", (unsigned long long)mysql_affected_rows(mysql));
        }
    } while (!mysql_next_result(mysql));
    printf("\n");
}

static MYSQL *again(MYSQL *mysql)
{
    run(mysql, "SET @mine = 1");
    mysql_close(mysql);
    mysql = connect_to_server();
    line(mysql, "again", "SELECT views, @mine FROM posts WHERE id = 1");
    run(mysql, "SET @mine = 2");
    printf("reset: %d", mysql_reset_connection(mysql));
    show(mysql, "SELECT views, @mine, DATABASE() FROM posts WHERE id = 1");
    run(mysql, "SET @mine = 3");
    printf("\nchanged: %d", mysql_change_user(mysql, address[2], address[3], address[4]));
    show(mysql, "SELECT views, @mine, DATABASE() FROM posts WHERE id = 1");
    printf("\nselected: %d", mysql_select_db(mysql, address[4]));
    printf(" %d", mysql_ping(mysql));
    show(mysql, "SELECT views FROM posts WHERE id = 1");
    printf("\n");
    return mysql;
}

/* How many of the rows were affected when four connections run a statement so often each, by turns. */
static void together(const char *statement, int times)
{
    MYSQL *connections[4];
    MYSQL_STMT *prepared[4];
    unsigned long long affected = 0;
    for (int i = 0; i < 4; i++) {
        connections[i] = connect_to_server();
        prepared[i] = prepare(connections[i], statement);
    }
    for (int i = 0; i < 4 * times; i++)
        affected += execute(prepared[i % 4], (struct value[]){{'i', 3}});
    for (int i = 0; i < 4; i++) {
        mysql_stmt_close(prepared[i]);
        mysql_close(connections[i]);
    }
    printf("%llu of %d", affected, 4 * times);
}

int main(int count, char **arguments)
{
    if (count < 7) {
        printf("%s\n", mysql_get_client_info());
        return 0;
    }
    address = arguments + 2;
    MYSQL *mysql = connect_to_server();
    increments(mysql);
    transactions(mysql);
    other_writes(mysql);
    reads(mysql);
    unicode(mysql);
    large(mysql);
    stream(mysql);
    errors(mysql);
    warnings(mysql);
    several(mysql);
    mysql = again(mysql);
    printf("crowd: ");
    together("UPDATE posts SET views = views + 1 WHERE id = ?", 10);
    printf(" and ");
    together("UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1", 5);
    printf(" leave");
    show(mysql, "SELECT views, stock FROM posts WHERE id = 3");
    printf("\nfinished\n");
    mysql_close(mysql);
    return 0;
}
