package embedded

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"text/template"
	"time"
)

// Names of the users that exist in the database.
const (
	ServiceUser = "rocelens"
	ReaderUser  = "reader"
)

// databaseName is what the reader's grant may name without quoting.
var databaseName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

const configTemplate = `<clickhouse>
  <log-level>warning</log-level>
  <logger>
    <level>warning</level>
    <log>{{xml .LogDirectory}}/clickhouse.log</log>
    <errorlog>{{xml .LogDirectory}}/clickhouse.err.log</errorlog>
    <size>8M</size>
    <count>2</count>
  </logger>
  <listen_host>{{.Host}}</listen_host>
  <tcp_port>0</tcp_port>
  <http_port>0</http_port>
  <users_config>{{xml .Users}}</users_config>
  <timezone>UTC</timezone>
  <max_server_memory_usage_to_ram_ratio>0.5</max_server_memory_usage_to_ram_ratio>
  <mark_cache_size>134217728</mark_cache_size>
  <max_table_size_to_drop>0</max_table_size_to_drop>
  <max_partition_size_to_drop>0</max_partition_size_to_drop>
  <merge_tree>
    <auto_statistics_types></auto_statistics_types>
    <min_columns_to_activate_adaptive_write_buffer>1</min_columns_to_activate_adaptive_write_buffer>
  </merge_tree>
</clickhouse>
`

// A constraint of equal bounds keeps a setting where it is and still lets a client repeat it, which
// "readonly" would refuse.
const usersTemplate = `<clickhouse>
  <profiles>
    <default>
      <cancel_http_readonly_queries_on_client_close>1</cancel_http_readonly_queries_on_client_close>
    </default>
    <lifeline>
      <max_sessions_for_user>1</max_sessions_for_user>
    </lifeline>
    <reader>
      <readonly>2</readonly>
      <cancel_http_readonly_queries_on_client_close>1</cancel_http_readonly_queries_on_client_close>
      <final>1</final>
      <max_execution_time>{{.Seconds}}</max_execution_time>
      <timeout_before_checking_execution_speed>0</timeout_before_checking_execution_speed>
      <max_memory_usage>{{.Limits.Memory}}</max_memory_usage>
      <max_memory_usage_for_user>{{.Limits.Memory}}</max_memory_usage_for_user>
      <max_result_rows>{{.Limits.ResultRows}}</max_result_rows>
      <max_result_bytes>{{.Limits.ResultBytes}}</max_result_bytes>
      <result_overflow_mode>throw</result_overflow_mode>
      <timeout_overflow_mode>throw</timeout_overflow_mode>
      <max_concurrent_queries_for_user>{{.Limits.Concurrent}}</max_concurrent_queries_for_user>
      <constraints>
        <max_execution_time><min>1</min><max>{{.Seconds}}</max></max_execution_time>
        <max_result_rows><min>1</min><max>{{.Limits.ResultRows}}</max></max_result_rows>
        <max_result_bytes><min>1</min><max>{{.Limits.ResultBytes}}</max></max_result_bytes>
        <max_memory_usage><min>1</min><max>{{.Limits.Memory}}</max></max_memory_usage>
        <max_memory_usage_for_user><readonly/></max_memory_usage_for_user>
        <max_concurrent_queries_for_user><readonly/></max_concurrent_queries_for_user>
        <timeout_before_checking_execution_speed><readonly/></timeout_before_checking_execution_speed>
        <result_overflow_mode><readonly/></result_overflow_mode>
        <timeout_overflow_mode><readonly/></timeout_overflow_mode>
      </constraints>
    </reader>
  </profiles>
  <quotas>
    <default/>
  </quotas>
  <users>
    <default>
      <no_password/>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>lifeline</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT SYSTEM LISTEN ON *.*</query>
        <query>GRANT CREATE TEMPORARY TABLE ON *.*</query>
        <query>GRANT READ, WRITE ON FILE</query>
      </grants>
    </default>
    <{{.ServiceUser}}>
      <password_sha256_hex>{{.ServiceHash}}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <access_management>1</access_management>
    </{{.ServiceUser}}>
    <{{.ReaderUser}}>
      <password_sha256_hex>{{.ReaderHash}}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>reader</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT SELECT ON {{.Database}}.*</query>
      </grants>
    </{{.ReaderUser}}>
  </users>
</clickhouse>
`

var (
	configXML = template.Must(template.New("config.xml").Funcs(template.FuncMap{"xml": escape}).Parse(configTemplate))
	usersXML  = template.Must(template.New("users.xml").Parse(usersTemplate))
)

func escape(text string) (string, error) {
	var out bytes.Buffer
	err := xml.EscapeText(&out, []byte(text))
	return out.String(), err
}

// layout is where things are in the data directory.
type layout struct{ root string }

func (l layout) database() string    { return filepath.Join(l.root, "database") }
func (l layout) logs() string        { return filepath.Join(l.root, "log") }
func (l layout) config() string      { return filepath.Join(l.root, "config.xml") }
func (l layout) users() string       { return filepath.Join(l.root, "users.xml") }
func (l layout) serviceLock() string { return filepath.Join(l.root, "service.lock") }
func (l layout) engineLock() string  { return filepath.Join(l.root, "database.lock") }

func (l layout) make() error {
	for _, directory := range []string{l.root, l.logs(), l.database()} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return fmt.Errorf("the data directory cannot be made: %w", err)
		}
	}
	return nil
}

func (l layout) writeConfig(host string) error {
	return render(configXML, l.config(), map[string]any{
		"Host":         host,
		"LogDirectory": l.logs(),
		"Users":        l.users(),
	})
}

func (l layout) writeUsers(database string, limits Limits, servicePassword, readerPassword string) error {
	if !databaseName.MatchString(database) {
		return fmt.Errorf("%q is no name for the database: letters, digits and underscores are", database)
	}
	return render(usersXML, l.users(), map[string]any{
		"Seconds":     strconv.FormatInt(int64(max(limits.ExecutionTime, time.Second)/time.Second), 10),
		"Limits":      limits,
		"Database":    database,
		"ServiceUser": ServiceUser,
		"ServiceHash": hash(servicePassword),
		"ReaderUser":  ReaderUser,
		"ReaderHash":  hash(readerPassword),
	})
}

// removeConfiguration removes both files.
func (l layout) removeConfiguration() error {
	return errors.Join(os.Remove(l.config()), os.Remove(l.users()))
}

func render(source *template.Template, path string, values any) error {
	var out bytes.Buffer
	if err := source.Execute(&out, values); err != nil {
		return fmt.Errorf("render %s: %w", filepath.Base(path), err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("the data directory is not writable: %w", err)
	}
	return nil
}

func hash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// randomLoopback is an address of this machine's loopback interface that whoever scans 127.0.0.1 does not meet. Only Linux
// has all of 127.0.0.0/8 there.
func randomLoopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return net.IPv4(127, b[0], b[1], 2+b[2]%250).String()
}

func randomPassword() string { return rand.Text() + rand.Text() }
