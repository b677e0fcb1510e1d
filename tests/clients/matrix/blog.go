// The blog of tests/clients/matrix/mod.rs, with go-sql-driver/mysql.
//
//	blog DRIVER HOST PORT USER PASSWORD SCHEMA
//
// DRIVER is `prepared` (which prepares in the server what has parameters, as it does by default) or `interpolated` (in
// the client). With DRIVER alone it prints the library's version.
package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func say(step string, values ...interface{}) {
	fmt.Println(step + ": " + strings.TrimSpace(fmt.Sprintln(values...)))
}

// blog is played over one connection of a pool.
type blog struct {
	pool *sql.DB
	*sql.Conn
}

var background = context.Background()

func connect(dsn string) blog {
	pool, err := sql.Open("mysql", dsn)
	must(err)
	connection, err := pool.Conn(background)
	must(err)
	return blog{pool, connection}
}

func (b blog) close() {
	must(b.Conn.Close())
	must(b.pool.Close())
}

type runner interface {
	ExecContext(context.Context, string, ...interface{}) (sql.Result, error)
}

func run(on runner, statement string, values ...interface{}) int64 {
	result, err := on.ExecContext(background, statement, values...)
	must(err)
	affected, err := result.RowsAffected()
	must(err)
	return affected
}

func times(count int, ask func() int64) string {
	found := make([]string, count)
	for i := range found {
		found[i] = fmt.Sprint(ask())
	}
	return strings.Join(found, " ")
}

type asker interface {
	QueryContext(context.Context, string, ...interface{}) (*sql.Rows, error)
}

// rows are those of a query, as text.
func rows(on asker, query string, values ...interface{}) string {
	found, err := on.QueryContext(background, query, values...)
	must(err)
	defer found.Close()
	columns, err := found.Columns()
	must(err)
	var shown []string
	for found.Next() {
		texts := make([]sql.NullString, len(columns))
		into := make([]interface{}, len(columns))
		for i := range texts {
			into[i] = &texts[i]
		}
		must(found.Scan(into...))
		row := make([]string, len(columns))
		for i, text := range texts {
			row[i] = "NULL"
			if text.Valid {
				row[i] = text.String
			}
		}
		shown = append(shown, strings.Join(row, "|"))
	}
	must(found.Err())
	return strings.Join(shown, " ")
}

func (b blog) increments() {
	const byKey = "UPDATE posts SET views = views + 1 WHERE id = ?"
	say("text", times(10, func() int64 { return run(b, "UPDATE posts SET views = views + 1 WHERE id = 1") }))
	prepared, err := b.PrepareContext(background, byKey)
	must(err)
	say("prepared", times(4, func() int64 {
		result, err := prepared.Exec(1)
		must(err)
		affected, _ := result.RowsAffected()
		return affected
	}), run(b, byKey, 1))
	must(prepared.Close())
	say("bound", times(3, func() int64 { return run(b, "UPDATE posts SET likes = likes + ? WHERE id = ?", 2, 1) }))
	for _, row := range [][]interface{}{{1, 5}, {2, 6}, {3, 5}} {
		run(b, "UPDATE posts SET views = views + ? WHERE id = ?", row...)
	}
	say("bulk", rows(b, "SELECT SUM(views) FROM posts WHERE id IN (5, 6)"))
}

func (b blog) transactions() {
	begin := func() *sql.Tx {
		transaction, err := b.BeginTx(background, nil)
		must(err)
		return transaction
	}
	transaction := begin()
	committed := run(transaction, "UPDATE posts SET likes = likes + 10 WHERE id = 1")
	must(transaction.Commit())
	transaction = begin()
	rolledBack := run(transaction, "UPDATE posts SET likes = likes + 100 WHERE id = 1")
	must(transaction.Rollback())
	say("transactions", committed, rolledBack, rows(b, "SELECT likes FROM posts WHERE id = 1"))
	transaction = begin()
	run(transaction, "UPDATE posts SET views = views + 1 WHERE id = 4")
	within := rows(transaction, "SELECT views FROM posts WHERE id = 4")
	must(transaction.Rollback())
	say("within", within, rows(b, "SELECT views FROM posts WHERE id = 4"))
}

func (b blog) otherWrites() {
	say("guarded", times(8, func() int64 {
		return run(b, "UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1", 1)
	}))
	days := []string{"2026-11-22", "2026-11-22", "2026-11-22", "2026-11-23", "2026-11-23"}
	say("upserts", times(5, func() int64 {
		day := days[0]
		days = days[1:]
		return run(b, "INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", day)
	}))
	added := run(b, "UPDATE posts SET views = views + 1 WHERE id = 8")
	changed := run(b, "UPDATE posts SET body = ?, views = 5 WHERE id = ?", nil, 8)
	say("set", added, changed, rows(b, "SELECT views FROM posts WHERE id = 8"))
	say("sequence", times(3, func() int64 {
		result, err := b.ExecContext(background, "UPDATE seq SET id = LAST_INSERT_ID(id + 1)")
		must(err)
		id, err := result.LastInsertId()
		must(err)
		return id
	}))
}

func (b blog) reads() {
	const statement = "SELECT id, title, body, views, likes, stock, price FROM posts WHERE id = "
	say("row", rows(b, statement+"1"))
	say("prepared row", rows(b, statement+"?", 1))
	say("list", rows(b, "SELECT id, title, views FROM posts WHERE id <= 5 ORDER BY views DESC, id"))
	say("sum", rows(b, "SELECT COUNT(*), SUM(views), MAX(likes) FROM posts"))
	say("days", rows(b, "SELECT CAST(day AS CHAR), hits FROM sign_ups ORDER BY day"))
	found, err := b.QueryContext(background, "SELECT * FROM posts WHERE id = ?", 1)
	must(err)
	types, err := found.ColumnTypes()
	must(err)
	for _, column := range types {
		nullable, _ := column.Nullable()
		precision, scale, _ := column.DecimalSize()
		say("column", column.Name(), column.DatabaseTypeName(), column.ScanType(), nullable, precision, scale)
	}
	must(found.Close())
}

func (b blog) unicode() {
	const title = "Ångström’s 😀"
	inserted := run(b, "INSERT INTO posts (id, title, body) VALUES (20001, ?, ?)", title, nil)
	row := rows(b, "SELECT id, title, body, views FROM posts WHERE title = ?", title)
	say("unicode", inserted, row, run(b, "DELETE FROM posts WHERE id = ?", 20001))
}

func (b blog) large() {
	allBytes := make([]byte, 256)
	for i := range allBytes {
		allBytes[i] = byte(i)
	}
	bytes := []byte(strings.Repeat(string(allBytes), 12288))
	run(b, "UPDATE posts SET picture = ?, body = ? WHERE id = 2", bytes, strings.Repeat("Zeile 漢字 😀\n", 50000))
	var picture, body []byte
	var views int
	row := b.QueryRowContext(background, "SELECT picture, body, views FROM posts WHERE id = 2")
	must(row.Scan(&picture, &body, &views))
	there := strings.ReplaceAll(rows(b, "SELECT SHA2(picture, 256), SHA2(body, 256) FROM posts WHERE id = 2"), "|", " ")
	here := fmt.Sprintf("%x %x", sha256.Sum256(picture), sha256.Sum256(body))
	say("large", len(picture), len(body), views, there)
	say("came back", here)
}

func (b blog) stream() {
	found, err := b.QueryContext(background, "SELECT id, title, views FROM posts WHERE id > 10 ORDER BY id")
	must(err)
	var count, total, letters int
	for found.Next() {
		var id, views int
		var title string
		must(found.Scan(&id, &title, &views))
		count, total, letters = count+1, total+id*views, letters+len(title)
	}
	must(found.Err())
	say("stream", count, total, letters)
}

func (b blog) errors() {
	var codes []interface{}
	for _, statement := range []string{
		"INSERT INTO posts (id, title) VALUES (1, 'again')",
		"UPDATE posts SET views = views + WHERE id = 1",
		"UPDATE posts SET views = views + 1, nothing = 1 WHERE id = 1",
		"SELECT views, nothing FROM posts",
		"UPDATE posts SET stock = stock - 1 WHERE id = 1",
	} {
		_, err := b.ExecContext(background, statement)
		told := err.(*mysql.MySQLError)
		codes = append(codes, told.Number)
		say("error", told.Number, told.Message)
	}
	say("errors", codes...)
}

func (b blog) warnings() {
	say("told", run(b, "UPDATE posts SET price = '1.239' WHERE id = 7"))
	say("warned", rows(b, "SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1"))
	var level, message string
	var code int
	must(b.QueryRowContext(background, "SHOW WARNINGS").Scan(&level, &code, &message))
	say("warning", code)
	say("message", message)
}

func (b blog) several() {
	found, err := b.QueryContext(background,
		"SELECT views FROM posts WHERE id = 1; SELECT title FROM posts WHERE id = 5; SELECT COUNT(*) FROM seq")
	must(err)
	var shown []interface{}
	for more := true; more; more = found.NextResultSet() {
		for found.Next() {
			var text string
			must(found.Scan(&text))
			shown = append(shown, text)
		}
	}
	must(found.Err())
	say("several", shown...)
}

func again(b blog, dsn string) blog {
	run(b, "SET @mine = 1")
	b.close()
	b = connect(dsn)
	say("again", rows(b, "SELECT views, @mine FROM posts WHERE id = 1"))
	must(b.PingContext(background))
	return b
}

// together tells how many of the rows were affected when four connections run a statement so often each.
func together(dsn, statement string, count int) string {
	var done sync.WaitGroup
	affected := make([]int64, 4)
	for i := range affected {
		done.Add(1)
		go func(i int) {
			defer done.Done()
			b := connect(dsn)
			defer b.close()
			for j := 0; j < count; j++ {
				affected[i] += run(b, statement, 3)
			}
		}(i)
	}
	done.Wait()
	return fmt.Sprint(affected[0]+affected[1]+affected[2]+affected[3], " of ", 4*count)
}

func main() {
	if len(os.Args) < 7 {
		// The library does not know its own.
		const query = "dpkg-query --show --showformat=${Version} golang-github-go-sql-driver-mysql-dev"
		words := strings.Fields(query)
		version, _ := exec.Command(words[0], words[1:]...).Output()
		fmt.Println(string(version) + ", " + runtime.Version())
		return
	}
	driver, host, port, user, password, schema := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = user, password, "tcp", host+":"+port, schema
	config.MultiStatements = true
	config.InterpolateParams = driver == "interpolated"
	config.MaxAllowedPacket = 0
	dsn := config.FormatDSN()
	b := connect(dsn)
	for _, step := range []func(blog){
		blog.increments, blog.transactions, blog.otherWrites, blog.reads, blog.unicode, blog.large, blog.stream,
		blog.errors, blog.warnings, blog.several,
	} {
		step(b)
	}
	b = again(b, dsn)
	crowd := together(dsn, "UPDATE posts SET views = views + 1 WHERE id = ?", 10)
	sold := together(dsn, "UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1", 5)
	say("crowd", crowd, "and", sold, "leave", rows(b, "SELECT views, stock FROM posts WHERE id = 3"))
	b.close()
	fmt.Println("finished")
}
