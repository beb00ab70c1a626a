import { writeFileSync } from 'node:fs'
import { openApiDocument } from './document.ts'

/** `npm run openapi`: generates docs/openapi.json from the schemas of the routes. */
writeFileSync('docs/openapi.json', `${JSON.stringify(openApiDocument(), null, 2)}\n`)
console.log('docs/openapi.json is written.')
