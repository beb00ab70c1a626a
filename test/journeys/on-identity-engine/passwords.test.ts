import '../../support/on-identity-engine.ts'
import '../passwords.test.ts'
