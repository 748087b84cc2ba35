package embedded_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/store/embedded"
)

// withTables starts a database with one table that the reader may read and one that it may not.
func withTables(t *testing.T, data string) *embedded.Server {
	t.Helper()
	needLibrary(t)
	server := start(t, embedded.Options{Data: data})
	for _, database := range []string{"rocelens", "other"} {
		service(t, server, "CREATE DATABASE "+database)
		service(t, server, "CREATE TABLE "+database+".t (n UInt64) ENGINE = MergeTree ORDER BY n")
		service(t, server, "INSERT INTO "+database+".t VALUES (7)")
	}
	return server
}

func wantRefused(t *testing.T, server *embedded.Server, query, want string) {
	t.Helper()
	user, password := server.ReaderCredentials()
	status, body := ask(t, server, user, password, query)
	if status == http.StatusOK || !strings.Contains(body, want) {
		t.Errorf("%s: %d %.300s, want %s", query, status, body, want)
	}
}

func TestReaderReadsItsDatabase(t *testing.T) {
	server := withTables(t, t.TempDir())
	user, password := server.ReaderCredentials()
	for _, allowed := range []struct{ query, want string }{
		{"SELECT n FROM rocelens.t", "7"},
		{"SHOW TABLES FROM rocelens", "t"},
		{"SELECT database FROM system.databases", "rocelens"},
		{"SELECT name FROM system.columns", "n"},
		{"SELECT database, name FROM system.tables", "rocelens\tt"},
		{"SELECT n FROM merge(REGEXP('.*'), '.*')", "7"},
		{"SELECT max_execution_time FROM (SELECT getSetting('max_execution_time') AS max_execution_time) SETTINGS max_execution_time = 5", "5"},
		{"SELECT getSetting('final')", "true"},
	} {
		status, body := ask(t, server, user, password, allowed.query)
		if status != http.StatusOK || body != allowed.want {
			t.Errorf("%s: %d %q, want %q", allowed.query, status, body, allowed.want)
		}
	}
}

// noFiles is how the engine refuses a path: it cannot find the directory of its users' files.
const noFiles = "filesystem error: in current_path"

// The paths are of the machine, of the database's process, configuration and logs, and of its data.
func TestReaderReadsNoFiles(t *testing.T) {
	data := t.TempDir()
	server := withTables(t, data)
	foreign := filepath.Join(t.TempDir(), "foreign")
	if err := os.WriteFile(foreign, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := []string{
		foreign, "/etc/passwd", "/etc/localtime", "/dev/null", "/dev/stdin", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2",
		"/proc/self/environ", "/proc/self/cmdline", "/proc/self/maps", "/proc/self/mem", "/proc/self/status", "/proc/thread-self/environ",
		"/proc/self/root/etc/passwd", "/proc/self/cwd/../users.xml", "/proc/self/fd/1", fmt.Sprintf("/proc/%d/environ", server.ProcessID()),
		"", ".", "..", "-", "status", "../status",
	}
	err := filepath.WalkDir(data, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}
		return nil // files of merged parts go
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.xml", "users.xml"} {
		paths = append(paths, filepath.Join(data, name))
		if _, err := os.Stat(filepath.Join(data, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if len(paths) < 40 {
		t.Errorf("only %d paths are tried", len(paths))
	}
	for _, path := range paths {
		wantRefused(t, server, "SELECT file('"+path+"')", noFiles)
	}
	for _, query := range []string{
		"SELECT file('%s', 'otherwise')",
		"SELECT file('%s', NULL)",
		"SELECT file(materialize('%s'))",
		"SELECT `f\\x69le`/**/('%s')",
		"SELECT * APPLY(file) FROM (SELECT '%s')",
		"SELECT file(getServerSetting('path') || '/status'), '%s'",
		"SELECT * FROM file('%s', 'LineAsString', 'a String')",
		"SELECT * FROM url('file://%s', 'LineAsString', 'a String')",
		"SELECT * FROM loop(file('%s', 'LineAsString', 'a String')) LIMIT 1",
		"SELECT * FROM sqlite('%s', 't')",
		"SELECT 1 FORMAT Template SETTINGS format_template_row = '%s'",
		"SELECT 1 FORMAT Template SETTINGS format_template_resultset = '%s'",
		"INSERT INTO FUNCTION file('%s') SELECT 1",
	} {
		wantRefused(t, server, fmt.Sprintf(query, foreign), noFiles)
	}
	if server.Restarts() != 0 {
		t.Errorf("the database was started again %d times", server.Restarts())
	}
}

func TestReaderIsRefused(t *testing.T) {
	server := withTables(t, t.TempDir())
	refuse := func(want string, queries ...string) {
		t.Helper()
		for _, query := range queries {
			wantRefused(t, server, query, want)
		}
	}
	refuse("ACCESS_DENIED",
		"SELECT * FROM other.t",
		"SELECT * FROM view(SELECT * FROM other.t)",
		"SELECT * FROM loop(other.t) LIMIT 1",
		"SELECT * FROM mergeTreeIndex('other', 't')",
		"SELECT * FROM viewExplain('EXPLAIN', '', (SELECT * FROM other.t))",
		"SELECT * FROM dictionary('other.d')",
		"SHOW PROCESSLIST",
		"SHOW USERS",
		"SHOW ACCESS",
		"SHOW CREATE USER default",
		"KILL QUERY WHERE 1",
	)
	for _, table := range []string{
		"users", "grants", "roles", "quotas", "settings_profiles", "user_directories", "processes", "user_processes", "query_cache",
		"server_settings", "disks", "storage_policies", "named_collections", "dictionaries", "clusters", "macros", "warnings",
		"stack_trace", "errors", "metrics", "events", "build_options", "parts", "detached_parts", "remote_data_paths",
		"filesystem_cache", "schema_inference_cache", "merges", "mutations", "moves", "background_schedule_pool",
	} {
		refuse("ACCESS_DENIED", "SELECT * FROM system."+table)
	}
	// The engine keeps none of these.
	for _, table := range []string{"query_log", "text_log", "sessions", "session_log", "zookeeper", "asynchronous_metrics"} {
		refuse("UNKNOWN_TABLE", "SELECT * FROM system."+table)
	}
	refuse("ACCESS_DENIED",
		"SELECT * FROM file('-', 'LineAsString', 'a String')",
		"SELECT * FROM filesystem('/etc')",
		"SELECT * FROM deltaLakeLocal('/etc')",
		"SELECT * FROM icebergLocal('/etc')",
		"SELECT * FROM paimonLocal('/etc')",
		"SELECT * FROM executable('x', 'TSV', 'a String')",
		"SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')",
		"SELECT * FROM hdfs('hdfs://127.0.0.1:1/x', 'CSV', 'a String')",
		"SELECT * FROM hdfs('file:///etc/passwd', 'CSV', 'a String')",
		"SELECT * FROM s3('http://127.0.0.1:1/bucket/x', 'CSV', 'a String')",
		"SELECT * FROM gcs('http://127.0.0.1:1/bucket/x', 'CSV', 'a String')",
		"SELECT * FROM azureBlobStorage('http://127.0.0.1:1/', 'c', 'x', 'a', 'YQ==', 'CSV', 'auto', 'a String')",
		"SELECT * FROM deltaLake('http://127.0.0.1:1/bucket/x')",
		"SELECT * FROM iceberg('http://127.0.0.1:1/bucket/x')",
		"SELECT * FROM hudi('http://127.0.0.1:1/bucket/x')",
		"SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')",
		"SELECT * FROM postgresql('127.0.0.1:1', 'd', 't', 'u', 'p')",
		"SELECT * FROM mongodb('127.0.0.1:1', 'd', 't', 'u', 'p', 'a String')",
		"SELECT * FROM redis('127.0.0.1:1', 'a', 'a String')",
		"SELECT * FROM odbc('DSN=x', 'd', 't')",
		"SELECT * FROM jdbc('x', 'd', 't')",
		"SELECT * FROM remote('127.0.0.1:1', system.one)",
		"SELECT * FROM remoteSecure('127.0.0.1:1', system.one)",
		"SELECT * FROM format(Protobuf, '') SETTINGS format_schema = '/etc/passwd:M'",
		"SELECT * FROM format(CapnProto, 'n UInt64', '') SETTINGS format_schema = '/etc/passwd:M'",
		"SELECT addressToLine(1)",
		"SELECT addressToSymbol(1)",
	)
	for _, function := range []string{
		"fileCluster('default', '/etc/passwd', 'LineAsString', 'a String')",
		"urlCluster('default', 'http://127.0.0.1:1/', 'CSV', 'a String')",
		"cluster('default', other.t)",
		"clusterAllReplicas('default', other.t)",
	} {
		refuse("CLUSTER_DOESNT_EXIST", "SELECT * FROM "+function)
	}
	refuse("CANNOT_EXTRACT_TABLE_STRUCTURE", "SELECT * FROM merge('other', '.*')")
	refuse("INVALID_USAGE_OF_INPUT", "SELECT * FROM input('a String')")
	refuse("SUPPORT_IS_DISABLED", "SELECT * FROM eval('SELECT * FROM other.t')", "EXECUTE AS default SELECT 1")
	refuse("Not found: catboost_lib_path", "SELECT catboostEvaluate('/etc/passwd', 1)")
	refuse("INTO_OUTFILE_NOT_ALLOWED", "SELECT 1 INTO OUTFILE '/tmp/x'")
	refuse("INVALID_CONFIG_PARAMETER", "RESTORE TABLE rocelens.t FROM File('/tmp/x')")
	refuse("ACCESS_DENIED",
		"BACKUP TABLE rocelens.t TO File('/tmp/x')",
		"DROP TABLE rocelens.t",
		"DROP DATABASE rocelens",
		"INSERT INTO rocelens.t VALUES (8)",
		"INSERT INTO rocelens.t FROM INFILE '/etc/passwd' FORMAT CSV",
		"ALTER TABLE rocelens.t DELETE WHERE 1",
		"TRUNCATE TABLE rocelens.t",
		"CREATE TABLE rocelens.u (n UInt64) ENGINE = Memory",
		"CREATE TABLE rocelens.f (a String) ENGINE = File(CSV, '/etc/passwd')",
		"CREATE DICTIONARY rocelens.d (a String) PRIMARY KEY a SOURCE(FILE(path '/etc/passwd' format 'TSV')) LAYOUT(FLAT()) LIFETIME(0)",
		"ATTACH TABLE rocelens.g FROM '/etc' (a String) ENGINE = MergeTree ORDER BY a",
		"CREATE TEMPORARY TABLE u (n UInt64)",
		"CREATE TEMPORARY TABLE f (a String) ENGINE = File(CSV, '/etc/passwd')",
		"CREATE FUNCTION f AS (x) -> file(x)",
		"CREATE NAMED COLLECTION c AS a = 1",
		"CREATE USER evil",
		"SYSTEM SHUTDOWN",
		"SYSTEM FLUSH LOGS",
	)
	refuse("READONLY", "SET readonly = 0")
	refuse("SETTING_CONSTRAINT_VIOLATION",
		"SELECT 1 SETTINGS max_execution_time = 0",
		"SELECT 1 SETTINGS max_execution_time = 3600",
		"SELECT 1 SETTINGS max_memory_usage = 0",
		"SELECT 1 SETTINGS max_memory_usage = 1000000000000",
		"SELECT 1 SETTINGS max_result_rows = 0",
		"SELECT 1 SETTINGS max_result_rows = 1000000000000",
		"SELECT 1 SETTINGS result_overflow_mode = 'break'",
		"SELECT 1 SETTINGS max_concurrent_queries_for_user = 1000",
	)
	refuse("TOO_MANY_ROWS_OR_BYTES", "SELECT number FROM numbers(100000000) FORMAT Null SETTINGS max_result_rows = 10")
	refuse("TIMEOUT_EXCEEDED", "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number)) SETTINGS max_execution_time = 1")
	refuse("MEMORY_LIMIT_EXCEEDED", "SELECT groupArray(number) FROM numbers(100000000) SETTINGS max_memory_usage = 10000000")
}
