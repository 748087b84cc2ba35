package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/embedded"
)

// startWithUsers runs a ClickHouse whose users an administrator has written into its configuration, and returns the
// addresses of both protocols. users are elements of users.xml. This engine keeps no users that SQL creates.
func startWithUsers(t *testing.T, users string) (native, http string) {
	t.Helper()
	config(t, "rocelens") // skips where there is no engine
	library, err := embedded.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config.xml": fmt.Sprintf(`<clickhouse><log-level>warning</log-level><logger><level>warning</level><errorlog>%[1]s/error.log</errorlog></logger>
			<listen_host>127.0.0.1</listen_host><tcp_port>0</tcp_port><http_port>0</http_port><users_config>%[1]s/users.xml</users_config></clickhouse>`, dir),
		"users.xml": `<clickhouse><profiles><default/><reading><readonly>2</readonly></reading><reading1><readonly>1</readonly></reading1></profiles>
			<quotas><default/></quotas><users><default><no_password/><networks><ip>127.0.0.1</ip></networks></default>` + users + `</users></clickhouse>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(program, "--library", library,
		"--users", filepath.Join(dir, "users.xml"), "--config", filepath.Join(dir, "config.xml"), "--data", filepath.Join(dir, "data"))
	var stderr strings.Builder
	command.Stderr = &stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(stdin.Close(), command.Wait()); err != nil {
			t.Errorf("%v: %s", err, &stderr)
		}
	})
	ports, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("it does not start: %v", err)
	}
	var nativePort, httpPort string
	if _, err := fmt.Sscan(ports, &nativePort, &httpPort); err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", nativePort), net.JoinHostPort("127.0.0.1", httpPort)
}

// user is an element of users.xml. Grants are statements.
func user(name, profile string, grants ...string) string {
	element := fmt.Sprintf("<%[1]s><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>%[2]s</profile><quota>default</quota>", name, profile)
	if len(grants) > 0 {
		element += "<grants><query>" + strings.Join(grants, "</query><query>") + "</query></grants>"
	}
	return element + "</" + name + ">"
}

// serviceGrants are what docs/serve.md tells an administrator to grant.
func serviceGrants() []string {
	return []string{"GRANT ALL ON rocelens.*", "GRANT ALL ON rocelens_staging.*", "GRANT TABLE ENGINE ON *"}
}

func TestGrantsThatAreAskedForSuffice(t *testing.T) {
	makeUsers := []string{"GRANT CREATE USER, DROP USER ON *.*", "GRANT SELECT ON rocelens.* WITH GRANT OPTION"}
	native, http := startWithUsers(t, user("reading", "reading", "GRANT SELECT ON rocelens.*")+
		user("service", "default", serviceGrants()...)+
		user("maker", "default", append(serviceGrants(), makeUsers...)...))
	s, err := store.Open(t.Context(), store.Config{
		Address: native, HTTPAddress: http, Account: access.Account{User: "service", Password: "secret"},
		Reader: access.Account{User: "reading", Password: "secret"},
	})
	if err != nil {
		t.Fatal(err)
	}
	capture := newCapture("granted.pcap")
	if err := s.SaveCapture(t.Context(), capture); err != nil {
		t.Fatal(err)
	}
	analysis, err := s.BeginAnalysis(t.Context(), capture.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := analysis.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	capture.Name = "renamed.pcap"
	if err := s.SaveCapture(t.Context(), capture); err != nil {
		t.Fatal(err)
	}
	// Whoever the reader is, it sees the newest row of a capture and no other.
	const names = "SELECT groupArray(name) FROM captures"
	result, err := s.Query(t.Context(), names, 1)
	if err != nil || fmt.Sprint(result.Rows) != "[[[renamed.pcap]]]" {
		t.Errorf("captures = %v, %v", result.Rows, err)
	}
	download, err := s.Download(t.Context(), names, store.FormatJSONLines)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(download.Body); err != nil || !strings.Contains(string(text), `["renamed.pcap"]`) {
		t.Errorf("downloaded captures = %s, %v", text, err)
	}
	if err := errors.Join(download.Body.Close(), s.DeleteCapture(t.Context(), capture.ID), s.Close()); err != nil {
		t.Fatal(err)
	}

	// As far as this engine goes: it takes the statement and the right to it, and has nowhere to keep the user.
	wantDisabled(t, store.Config{Address: native, Account: access.Account{User: "maker", Password: "secret"}},
		"this ClickHouse keeps no users but those of its configuration files", "readonly = 2 and SELECT on `rocelens`.*", "--clickhouse-reader")
}

func TestAReaderThatCannotBeCreatedComesWithTheStatementsToRun(t *testing.T) {
	native, _ := startWithUsers(t, user("service", "default", serviceGrants()...))
	wantDisabled(t, store.Config{Address: native, Account: access.Account{User: "service", Password: "secret"}},
		"the user service may not create the read-only user",
		"GRANT CREATE USER, DROP USER ON *.* TO `service`; GRANT SELECT ON `rocelens`.* TO `service` WITH GRANT OPTION;",
		"CREATE USER `rocelens_reader` IDENTIFIED BY '...' SETTINGS readonly = 2; GRANT SELECT ON `rocelens`.* TO `rocelens_reader`;",
		"ClickHouse says: ", "Not enough privileges")
}

func TestAMissingRightIsNamed(t *testing.T) {
	native, _ := startWithUsers(t, user("none", "default", "GRANT SELECT ON rocelens.*")+user("engineless", "default", serviceGrants()[:2]...))
	for user, want := range map[string]string{"none": "CREATE DATABASE ON rocelens.*", "engineless": "TABLE ENGINE ON MergeTree"} {
		_, err := store.Open(t.Context(), store.Config{Address: native, Account: access.Account{User: user, Password: "secret"}})
		if code, words, _ := store.Refusal(err); code != 497 || !strings.Contains(words, want) {
			t.Errorf("%s: %v, want that %s is missing", user, err, want)
		}
	}
}

func TestANamedReaderIsTried(t *testing.T) {
	all := "GRANT SELECT ON *.*"
	native, _ := startWithUsers(t, user("service", "default")+user("writing", "default")+user("reading1", "reading1", all)+user("wide", "reading", all))
	for reader, want := range map[string]string{
		"nobody":   "nobody: Authentication failed",
		"writing":  "the user writing may write, and users' SQL must not: ALTER USER `writing` SETTINGS readonly = 2",
		"reading1": "the user reading1 has the setting readonly = 1, with which the service cannot ask for anything: set it to 2",
	} {
		_, err := store.Open(t.Context(), store.Config{
			Address: native, Account: access.Account{User: "service", Password: "secret"},
			Reader: access.Account{User: reader, Password: "secret"},
		})
		if !errors.Is(err, store.ErrReader) || !strings.Contains(err.Error(), want) {
			t.Errorf("reader %s: %v, want %q", reader, err, want)
		}
	}

	var log strings.Builder
	s, err := store.Open(t.Context(), store.Config{
		Address: native, Account: access.Account{User: "service", Password: "secret"},
		Reader: access.Account{User: "wide", Password: "secret"}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), `users' SQL may do more than read the database" user=wide grant="GRANT SELECT ON *.* TO wide"`) {
		t.Errorf("log = %s", log.String())
	}
}
