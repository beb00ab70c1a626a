/** Imported first: the sandbox of this test file is an Identity Engine org. */
process.env.SANDBOX_PIPELINE = 'idx'
