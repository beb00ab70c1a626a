/** To be imported before a file of tests: its sandbox is an Identity Engine org. Jest gives each test file its own `process.env`. */
process.env.SANDBOX_PIPELINE = 'idx'
