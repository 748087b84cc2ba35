package shipping

// Retarget ships to another database, or with other credentials, from the next Run on. It must not be called during one.
// Errors are those of NewShipper, and leave everything as it is.
func (s *Shipper) Retarget(config ShipperConfig) error {
	config, err := config.withDefaults()
	if err == nil {
		s.config = config
	}
	return err
}
