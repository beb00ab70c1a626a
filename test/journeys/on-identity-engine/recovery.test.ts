import './identity-engine.ts'
import '../recovery.test.ts'
