import './identity-engine.ts'
import '../okta-auth-js.test.ts'
