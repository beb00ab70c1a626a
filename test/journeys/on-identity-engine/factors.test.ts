import '../../support/on-identity-engine.ts'
import '../factors.test.ts'
