declare function SwaggerUIBundle(options: object): void

/**
 * Swagger UI with the OpenAPI document. “Execute” sends the request from this page, so with its
 * cookies.
 */
SwaggerUIBundle({
  url: '/demo/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  filter: true,
  validatorUrl: null, // never ask another host
})
