// Package mr0 is the codec of MetaRoCE's wire profile mr0: [Packet] decodes, checks and appends the headers that stand
// behind UDP. All of it but this text is generated from the profile's description, dissector/metaroce/profile/metaroce-mr0.yaml.
//
// The profile is this project's own encoding of what has been published of MetaRoCE, not its authors' layout.
package mr0
