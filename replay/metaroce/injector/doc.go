// Package injector lets one of two reference endpoints of MetaRoCE deviate from one rule of the catalogue, and measures
// whether replay says so: from three vantages, with all of the capture and with some of it missing.
//
// What a host sends is altered at its boundary, so that the tap sees it as the host's own doing. Where only the record
// of a deviation counts, its peer is given what the endpoint had made, and the connection goes on undisturbed.
package injector
