package openapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// resolve puts what references name in their place, and compiles what requests are held against.
func (d *Document) resolve() error {
	c := &d.Components
	for _, s := range c.Schemas {
		if err := c.schema(s); err != nil {
			return err
		}
	}
	for path, item := range d.Paths {
		for _, operation := range item.operations() {
			operation.Path = path
			operation.Parameters = slices.Concat(item.Parameters, operation.Parameters)
			if err := c.operation(operation); err != nil {
				return fmt.Errorf("%s %s: %w", operation.Method, path, err)
			}
		}
	}
	return nil
}

// named replaces a part by the one that its reference names, when it is one.
func named[T any](part *T, ref, kind string, parts map[string]*T) error {
	if ref == "" {
		return nil
	}
	name, ok := strings.CutPrefix(ref, "#/components/"+kind+"/")
	target := parts[name]
	if !ok || target == nil {
		return fmt.Errorf("the reference %q leads nowhere", ref)
	}
	*part = *target
	return nil
}

func (c *Components) operation(o *Operation) error {
	for _, p := range o.Parameters {
		if err := named(p, p.Ref, "parameters", c.Parameters); err != nil {
			return err
		}
		if err := c.schema(p.Schema); err != nil {
			return err
		}
	}
	if o.RequestBody != nil {
		if err := c.content(o.RequestBody.Content); err != nil {
			return err
		}
	}
	for _, r := range o.Responses {
		if err := named(r, r.Ref, "responses", c.Responses); err != nil {
			return err
		}
		if err := c.content(r.Content); err != nil {
			return err
		}
		for _, h := range r.Headers {
			if err := named(h, h.Ref, "headers", c.Headers); err != nil {
				return err
			}
			if err := c.schema(h.Schema); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Components) content(content map[string]*MediaType) error {
	for _, m := range content {
		if err := c.schema(m.Schema); err != nil {
			return err
		}
	}
	return nil
}

// schema resolves a schema and all below it. What a reference names is resolved in its own place.
func (c *Components) schema(s *Schema) error {
	if s == nil {
		return nil
	}
	if ref := s.Ref; ref != "" {
		err := named(s, ref, "schemas", c.Schemas)
		s.Ref = ref
		return errors.Join(err, s.compile())
	}
	if err := s.compile(); err != nil {
		return err
	}
	if err := c.schema(s.Items); err != nil {
		return err
	}
	if err := c.schema(s.AdditionalProperties); err != nil {
		return err
	}
	for _, below := range s.OneOf {
		if err := c.schema(below); err != nil {
			return err
		}
	}
	for _, below := range s.Properties {
		if err := c.schema(below); err != nil {
			return err
		}
	}
	return nil
}
