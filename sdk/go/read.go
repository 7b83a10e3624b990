package pausegate

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// decode reads one JSON value and keeps its numbers as they are written.
func decode(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// readInto reads JSON into target, with defaults for what is left out. An error names the place.
func readInto(text string, target any) error {
	value, err := decode(text)
	if err != nil {
		return err
	}
	value, err = completed(value, reflect.TypeOf(target).Elem(), "")
	if err != nil {
		return err
	}
	complete, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var misfit *json.UnmarshalTypeError
	if err := json.Unmarshal(complete, target); errors.As(err, &misfit) {
		return fmt.Errorf("`%s`: expected %s, got %s", place(misfit.Field), misfit.Type, misfit.Value)
	} else if err != nil {
		return err
	}
	return nil
}

// completed is value with the defaults of typ, if its keys are those of typ.
func completed(value any, typ reflect.Type, path string) (any, error) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if reflect.PointerTo(typ).Implements(jsonReader) || reflect.PointerTo(typ).Implements(textReader) {
		return value, nil
	}
	switch typ.Kind() {
	case reflect.Struct:
		object, ok := value.(map[string]any)
		if value == nil && path != "" {
			return nil, nil
		}
		if !ok {
			return nil, fmt.Errorf("`%s`: expected an object, got %s", place(path), shown(value))
		}
		return object, complete(object, typ, path)
	case reflect.Slice, reflect.Array:
		list, _ := value.([]any)
		for at := range list {
			item, err := completed(list[at], typ.Elem(), fmt.Sprintf("%s[%d]", path, at))
			if err != nil {
				return nil, err
			}
			list[at] = item
		}
	case reflect.Map:
		object, _ := value.(map[string]any)
		for key := range object {
			item, err := completed(object[key], typ.Elem(), below(path, key))
			if err != nil {
				return nil, err
			}
			object[key] = item
		}
	}
	return value, nil
}

func complete(object map[string]any, typ reflect.Type, path string) error {
	fields := fieldsOf(typ)
	if err := onlyKnown(object, fields, path); err != nil {
		return err
	}
	for _, field := range fields {
		value, there := object[field.name]
		if !there {
			if field.required {
				return fmt.Errorf("`%s` is missing", below(path, field.name))
			}
			standIn, ok, err := defaultOf(field)
			if err != nil {
				return err
			}
			if ok {
				object[field.name] = standIn
			}
			continue
		}
		if value == nil && field.required && !takesNull(field.typ) {
			return fmt.Errorf("`%s`: expected %s, got null", below(path, field.name), field.typ)
		}
		if values := field.tag.Get("enum"); values != "" && value != nil && !slices.Contains(strings.Split(values, ","), fmt.Sprint(value)) {
			return fmt.Errorf("`%s`: expected one of %s, got %s", below(path, field.name), values, shown(value))
		}
		item, err := completed(value, field.typ, below(path, field.name))
		if err != nil {
			return err
		}
		object[field.name] = item
	}
	return nil
}

func onlyKnown(object map[string]any, fields []field, path string) error {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if !slices.ContainsFunc(fields, func(field field) bool { return field.name == name }) {
			return fmt.Errorf("`%s` is not known", below(path, name))
		}
	}
	return nil
}

func takesNull(typ reflect.Type) bool {
	return typ.Kind() == reflect.Interface || typ.Kind() == reflect.Pointer || typ == rawType
}

func shown(value any) string {
	written, err := json.Marshal(value)
	if err != nil || len(written) > 80 {
		return fmt.Sprintf("a %T", value)
	}
	return string(written)
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func place(path string) string {
	if path == "" {
		return "."
	}
	return path
}
