package store

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// addressText is the text of an address column as people write it.
func addressText(column string) string {
	return "replaceOne(toString(" + column + "), '::ffff:', '')"
}

// troubles and operations are the words of a filter that ask for flows in which something happened.
var words = map[string]string{
	"retransmitted": "retransmitted > 0",
	"out_of_order":  "out_of_order > 0",
	"reordered":     "out_of_order > 0",
	"duplicate":     "duplicates > 0",
	"mirror":        "mirror_copies > 0",
	"gap":           "psn_gaps > 0",
	"missing":       "missing_psns > 0",
	"lost":          "missing_psns > ifNull(missing_acknowledged, 0)",
	"nak":           "naks > 0",
	"rnr":           "rnr_naks > 0",
	"cnp":           "cnps > 0",
	"ce":            "ce_marked > 0",
	"icrc":          "icrc_bad > 0",
	"truncated":     "truncated > 0",
	"malformed":     "malformed > 0",
	"send":          "sends > 0",
	"write":         "writes > 0",
	"read":          "(read_requests > 0 OR read_responses > 0)",
	"atomic":        "(atomics > 0 OR atomic_responses > 0)",
	"ack":           "ack_packets > 0",
	"datagram":      "datagrams > 0",
	"tunnel":        "tunnel != ''",
}

// kinds are the names of services, protocols and applications, in lower case.
var kinds = map[string]string{
	"rc": "t.service = 'RC'", "uc": "t.service = 'UC'", "rd": "t.service = 'RD'", "ud": "t.service = 'UD'", "xrc": "t.service = 'XRC'",
	"vendor": "t.service IN ('vendor', 'vendor2')", "rocev1": "t.protocol = 'RoCEv1'", "rocev2": "t.protocol = 'RoCEv2'",
	"nvme": "t.application = 'NVMe-oF'", "nvme-of": "t.application = 'NVMe-oF'", "iser": "t.application = 'iSER'",
	"nfs": "t.application = 'NFS/RDMA'", "nfs/rdma": "t.application = 'NFS/RDMA'", "smb": "t.application = 'SMB Direct'",
	"infiniband": "t.protocol = 'InfiniBand'", "metaroce": "t.protocol = 'MetaRoCE'",
}

// flowFilter turns the words of a filter, all of which must match, into a condition. A word is an address
// or its beginning, a prefix such as 10.0.0.0/8, a QPN, a service, a protocol, an application, an operation or a trouble.
func flowFilter(filter string) (string, []any, error) {
	var conditions []string
	var arguments []any
	for i, word := range strings.Fields(filter) {
		word = strings.ToLower(word)
		name := "w" + strconv.Itoa(i)
		condition, known := words[word]
		if !known {
			condition, known = kinds[word]
		}
		if !known {
			var err error
			if condition, word, err = addressOrQP(word, name); err != nil {
				return "", nil, err
			}
			arguments = append(arguments, clickhouse.Named(name, word))
		}
		conditions = append(conditions, "("+condition+")")
	}
	if len(conditions) == 0 {
		return "1", nil, nil
	}
	return strings.Join(conditions, " AND "), arguments, nil
}

// addressOrQP is the condition of a word that is neither of the fixed ones, and the parameter's value.
func addressOrQP(word, name string) (condition, value string, err error) {
	if qp, err := strconv.ParseUint(word, 0, 32); err == nil {
		parameter := "{" + name + ":UInt32}"
		return "source_qp = " + parameter + " OR destination_qp = " + parameter, strconv.FormatUint(qp, 10), nil
	}
	if condition, value, err = addressPart(word, name); err == nil {
		return condition + " OR source_mac = {" + name + ":String} OR destination_mac = {" + name + ":String}", value, nil
	}
	return "", "", fmt.Errorf("%w: %q is no address, no QPN, no service, no protocol, no application and no finding", ErrBadRequest, word)
}

// addressPart is the condition that a word is an address, its beginning or a prefix, and the parameter's value.
func addressPart(word, name string) (condition, value string, err error) {
	parameter := "{" + name + ":String}"
	if _, err := netip.ParsePrefix(word); err == nil {
		return "isIPAddressInRange(" + addressText("source") + ", " + parameter + ") OR isIPAddressInRange(" +
			addressText("destination") + ", " + parameter + ")", word, nil
	}
	if strings.ContainsAny(word, ".:") && strings.Trim(word, "0123456789abcdef.:") == "" {
		if address, err := netip.ParseAddr(word); err == nil {
			word = address.Unmap().String()
		}
		return "startsWith(" + addressText("source") + ", " + parameter + ") OR startsWith(" +
			addressText("destination") + ", " + parameter + ")", word, nil
	}
	return "", "", fmt.Errorf("%w: %q is no address", ErrBadRequest, word)
}
