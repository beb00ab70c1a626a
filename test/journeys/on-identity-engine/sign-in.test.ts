import './identity-engine.ts'
import '../sign-in.test.ts'
