import '../../support/on-identity-engine.ts'
import '../enrollment.test.ts'
