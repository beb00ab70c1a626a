import '../../support/on-identity-engine.ts'
import '../activation.test.ts'
