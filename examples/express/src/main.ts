import { createPortal } from './portal.ts'
import { startGatehouseSandbox } from './sandbox.ts'

const port = Number(process.env.PORT ?? 3000)
const portalUrl = `http://localhost:${port}`

// For your own Gatehouse, replace this line with: const gatehouseUrl = 'http://localhost:8080'
const gatehouseUrl = await startGatehouseSandbox(portalUrl)

createPortal({ gatehouseUrl }).listen(port, 'localhost', () => console.log(`  Open ${portalUrl}\n`))
