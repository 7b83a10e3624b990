// Package config reads the settings that the operator made for this plugin: config = { units = "metric" } in its section.
// In tests they are what Settings holds.
package config

// Get is the setting of this name, and whether the operator made it.
func Get(name string) (value string, found bool, err error) {
	all, err := All()
	value, found = all[name]
	return value, found, err
}

// All are all settings.
func All() (map[string]string, error) { return all() }
