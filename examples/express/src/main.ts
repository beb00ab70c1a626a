import { createPortal } from './portal.ts'
import { startGatehouseSandbox } from './sandbox.ts'

const port = Number(process.env.PORT ?? 3000)
const portalUrl = `http://localhost:${port}`

/** Your own Gatehouse, or one with a sandbox. */
const gatehouseUrl = process.env.GATEHOUSE_URL ?? (await startGatehouseSandbox(portalUrl))

createPortal({ gatehouseUrl }).listen(port, 'localhost', () => console.log(`  Open ${portalUrl}\n`))
