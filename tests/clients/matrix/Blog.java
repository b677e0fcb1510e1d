// The blog of tests/clients/matrix/mod.rs, with MariaDB Connector/J.
//
//     java Blog DRIVER HOST PORT USER PASSWORD SCHEMA
//
// DRIVER is `text` (which prepares in the client, as it does by default), `compressed` (the same), or `prepared` (in the
// server). With DRIVER alone it prints the library's version.

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

public final class Blog implements AutoCloseable {
    private static String url;
    private static String user;
    private static String password;
    private final Connection connection;

    private Blog() throws SQLException {
        connection = DriverManager.getConnection(url, user, password);
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }

    private static void say(String step, Object... values) {
        System.out.println(step + ": " + Arrays.stream(values).map(String::valueOf).collect(Collectors.joining(" ")));
    }

    private int run(String statement) throws SQLException {
        try (Statement created = connection.createStatement()) {
            return created.executeUpdate(statement);
        }
    }

    private static void bind(PreparedStatement prepared, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            prepared.setObject(i + 1, values[i]);
        }
    }

    /** The affected rows of each execution. */
    private String executed(String statement, Object[]... rows) throws SQLException {
        List<String> affected = new ArrayList<>();
        try (PreparedStatement prepared = connection.prepareStatement(statement)) {
            for (Object[] row : rows) {
                bind(prepared, row);
                affected.add(String.valueOf(prepared.executeUpdate()));
            }
        }
        return String.join(" ", affected);
    }

    private static Object[][] times(int count, Object... row) {
        Object[][] rows = new Object[count][];
        Arrays.fill(rows, row);
        return rows;
    }

    private String rows(String query, Object... values) throws SQLException {
        try (PreparedStatement prepared = connection.prepareStatement(query)) {
            bind(prepared, values);
            return shown(prepared.executeQuery());
        }
    }

    private String textRows(String query) throws SQLException {
        try (Statement created = connection.createStatement()) {
            return shown(created.executeQuery(query));
        }
    }

    private static String shown(ResultSet found) throws SQLException {
        List<String> rows = new ArrayList<>();
        while (found.next()) {
            List<String> row = new ArrayList<>();
            for (int i = 1; i <= found.getMetaData().getColumnCount(); i++) {
                row.add(found.getString(i) == null ? "NULL" : found.getString(i));
            }
            rows.add(String.join("|", row));
        }
        return String.join(" ", rows);
    }

    private void increments() throws SQLException {
        List<Object> affected = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            affected.add(run("UPDATE posts SET views = views + 1 WHERE id = 1"));
        }
        say("text", affected.toArray());
        say("prepared", executed("UPDATE posts SET views = views + 1 WHERE id = ?", times(5, 1)));
        say("bound", executed("UPDATE posts SET likes = likes + ? WHERE id = ?", times(3, 2, 1)));
        String bulk = "UPDATE posts SET views = views + ? WHERE id = ?";
        try (PreparedStatement prepared = connection.prepareStatement(bulk)) {
            for (Object[] row : new Object[][] {{1, 5}, {2, 6}, {3, 5}}) {
                bind(prepared, row);
                prepared.addBatch();
            }
            say("batch", Arrays.toString(prepared.executeBatch()));
        }
        say("bulk", textRows("SELECT SUM(views) FROM posts WHERE id IN (5, 6)"));
    }

    private void transactions() throws SQLException {
        connection.setAutoCommit(false);
        int committed = run("UPDATE posts SET likes = likes + 10 WHERE id = 1");
        connection.commit();
        int rolledBack = run("UPDATE posts SET likes = likes + 100 WHERE id = 1");
        connection.rollback();
        say("transactions", committed, rolledBack, textRows("SELECT likes FROM posts WHERE id = 1"));
        connection.commit();
        run("UPDATE posts SET views = views + 1 WHERE id = 4");
        String within = textRows("SELECT views FROM posts WHERE id = 4");
        connection.rollback();
        say("within", within, textRows("SELECT views FROM posts WHERE id = 4"));
        connection.commit();
        connection.setAutoCommit(true);
    }

    private void otherWrites() throws SQLException {
        say("guarded", executed("UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1", times(8, 1)));
        String upsert = "INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1";
        say("upserts", executed(upsert, times(3, "2026-11-22")), executed(upsert, times(2, "2026-11-23")));
        int added = run("UPDATE posts SET views = views + 1 WHERE id = 8");
        String changed = executed("UPDATE posts SET body = ?, views = 5 WHERE id = ?", new Object[] {null, 8});
        say("set", added, changed, textRows("SELECT views FROM posts WHERE id = 8"));
        List<Object> numbers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            try (Statement created = connection.createStatement()) {
                created.executeUpdate("UPDATE seq SET id = LAST_INSERT_ID(id + 1)", Statement.RETURN_GENERATED_KEYS);
                ResultSet keys = created.getGeneratedKeys();
                keys.next();
                numbers.add(keys.getLong(1));
            }
        }
        say("sequence", numbers.toArray());
    }

    private void reads() throws SQLException {
        String statement = "SELECT id, title, body, views, likes, stock, price FROM posts WHERE id = ";
        say("row", textRows(statement + "1"));
        say("prepared row", rows(statement + "?", 1));
        say("list", textRows("SELECT id, title, views FROM posts WHERE id <= 5 ORDER BY views DESC, id"));
        say("sum", textRows("SELECT COUNT(*), SUM(views), MAX(likes) FROM posts"));
        say("days", textRows("SELECT CAST(day AS CHAR), hits FROM sign_ups ORDER BY day"));
        try (PreparedStatement prepared = connection.prepareStatement("SELECT * FROM posts WHERE id = ?")) {
            bind(prepared, 1);
            ResultSet found = prepared.executeQuery();
            found.next();
            ResultSetMetaData told = found.getMetaData();
            for (int i = 1; i <= told.getColumnCount(); i++) {
                say("column", told.getTableName(i), told.getColumnName(i), told.getColumnTypeName(i),
                    told.getColumnClassName(i), told.getPrecision(i), told.getScale(i), told.isNullable(i),
                    told.isSigned(i), found.getObject(i));
            }
        }
    }

    private void unicode() throws SQLException {
        String title = "Ångström’s 😀";
        String insert = "INSERT INTO posts (id, title, body) VALUES (20001, ?, ?)";
        String inserted = executed(insert, new Object[] {title, null});
        String row = rows("SELECT id, title, body, views FROM posts WHERE title = ?", title);
        say("unicode", inserted, row, executed("DELETE FROM posts WHERE id = ?", times(1, 20001)));
    }

    private static String sha256(byte[] value) throws Exception {
        StringBuilder digits = new StringBuilder();
        for (byte one : MessageDigest.getInstance("SHA-256").digest(value)) {
            digits.append(String.format("%02x", one));
        }
        return digits.toString();
    }

    private void large() throws Exception {
        byte[] bytes = new byte[256 * 12288];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) i;
        }
        String text = "Zeile 漢字 😀\n".repeat(50000);
        executed("UPDATE posts SET picture = ?, body = ? WHERE id = 2", new Object[] {bytes, text});
        try (Statement created = connection.createStatement()) {
            ResultSet found = created.executeQuery("SELECT picture, body, views FROM posts WHERE id = 2");
            found.next();
            byte[] picture = found.getBytes(1);
            byte[] body = found.getString(2).getBytes(StandardCharsets.UTF_8);
            String there = textRows("SELECT SHA2(picture, 256), SHA2(body, 256) FROM posts WHERE id = 2");
            say("large", picture.length, body.length, found.getInt(3), there.replace('|', ' '));
            say("came back", sha256(picture), sha256(body));
        }
    }

    private void stream() throws SQLException {
        long count = 0;
        long total = 0;
        long letters = 0;
        String statement = "SELECT id, title, views FROM posts WHERE id > ? ORDER BY id";
        try (PreparedStatement prepared = connection.prepareStatement(statement)) {
            prepared.setFetchSize(100);
            bind(prepared, 10);
            ResultSet found = prepared.executeQuery();
            while (found.next()) {
                count += 1;
                total += found.getLong(1) * found.getLong(3);
                letters += found.getString(2).length();
            }
        }
        say("stream", count, total, letters);
    }

    private void errors() {
        List<Object> codes = new ArrayList<>();
        for (String statement : new String[] {
            "INSERT INTO posts (id, title) VALUES (1, 'again')",
            "UPDATE posts SET views = views + WHERE id = 1",
            "UPDATE posts SET views = views + 1, nothing = 1 WHERE id = 1",
            "SELECT views, nothing FROM posts",
            "UPDATE posts SET stock = stock - 1 WHERE id = 1",
        }) {
            try {
                run(statement);
            } catch (SQLException error) {
                codes.add(error.getErrorCode());
                // The driver puts the id of the connection before what the server says.
                String message = error.getMessage().replaceFirst("^\\(conn=\\d+\\) ", "");
                say("error", error.getClass().getSimpleName(), error.getErrorCode(), error.getSQLState(), message);
            }
        }
        say("errors", codes.toArray());
    }

    private void warnings() throws SQLException {
        try (Statement created = connection.createStatement()) {
            int changed = created.executeUpdate("UPDATE posts SET price = '1.239' WHERE id = 7");
            SQLWarning warning = created.getWarnings();
            say("told", changed, warning == null ? "nothing" : warning.getMessage());
        }
        say("warned", textRows("SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1"));
        String[] told = textRows("SHOW WARNINGS").split("\\|");
        say("warning", told[1]);
        say("message", told[2]);
    }

    private void several() throws SQLException {
        List<Object> found = new ArrayList<>();
        try (Statement created = connection.createStatement()) {
            boolean isRows = created.execute("SELECT views FROM posts WHERE id = 1; DO 0; "
                + "SELECT title FROM posts WHERE id = 5; SELECT COUNT(*) FROM seq");
            while (isRows || created.getUpdateCount() != -1) {
                found.add(isRows ? shown(created.getResultSet()) : created.getUpdateCount());
                isRows = created.getMoreResults();
            }
        }
        say("several", found.toArray());
    }

    private Blog again() throws SQLException {
        run("SET @mine = 1");
        close();
        Blog other = new Blog();
        say("again", other.textRows("SELECT views, @mine FROM posts WHERE id = 1"));
        say("valid", other.connection.isValid(10), other.connection.getCatalog());
        return other;
    }

    /** How many of the rows were affected when four connections run a statement so often each. */
    private static String together(String statement, int count) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Future<Integer>> affected = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            affected.add(threads.submit(() -> {
                try (Blog blog = new Blog()) {
                    String[] told = blog.executed(statement, times(count, 3)).split(" ");
                    return Arrays.stream(told).mapToInt(Integer::parseInt).sum();
                }
            }));
        }
        int sum = 0;
        for (Future<Integer> one : affected) {
            sum += one.get();
        }
        threads.shutdown();
        return sum + " of " + 4 * count;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 6) {
            Driver driver = DriverManager.drivers().findFirst().get();
            System.out.println(driver.getMajorVersion() + "." + driver.getMinorVersion());
            return;
        }
        String options = switch (arguments[0]) {
            case "prepared" -> "&useServerPrepStmts=true";
            case "compressed" -> "&useCompression=true";
            default -> "";
        };
        url = "jdbc:mariadb://" + arguments[1] + ":" + arguments[2] + "/" + arguments[5]
            + "?allowMultiQueries=true&allowPublicKeyRetrieval=true" + options;
        user = arguments[3];
        password = arguments[4];
        Blog blog = new Blog();
        blog.increments();
        blog.transactions();
        blog.otherWrites();
        blog.reads();
        blog.unicode();
        blog.large();
        blog.stream();
        blog.errors();
        blog.warnings();
        blog.several();
        blog = blog.again();
        String crowd = together("UPDATE posts SET views = views + 1 WHERE id = ?", 10);
        String sold = together("UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1", 5);
        say("crowd", crowd, "and", sold, "leave", blog.textRows("SELECT views, stock FROM posts WHERE id = 3"));
        blog.close();
        System.out.println("finished");
    }
}
