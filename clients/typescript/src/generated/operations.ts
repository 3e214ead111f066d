// The operations of the API. `make clients` writes this file.

/** The operations of each group: HTTP method, path and what else a call has. */
export const OPERATIONS = {
  organizations: {
    list: 'GET /organizations page',
    create: 'POST /organizations body',
    getBySlug: 'GET /organizations/by-slug/{slug}',
    get: 'GET /organizations/{organization_id}',
    update: 'PATCH /organizations/{organization_id} body',
    delete: 'DELETE /organizations/{organization_id}',
    leave: 'POST /organizations/{organization_id}/leave',
    transferOwnership: 'POST /organizations/{organization_id}/transfer-ownership body',
    getSummary: 'GET /organizations/{organization_id}/summary',
    members: {
      list: 'GET /organizations/{organization_id}/members page',
      get: 'GET /organizations/{organization_id}/members/{user_id}',
      update: 'PATCH /organizations/{organization_id}/members/{user_id} body',
      remove: 'DELETE /organizations/{organization_id}/members/{user_id} query',
    },
    invitations: {
      describe: 'GET /organizations/invitations/acceptance query',
      respond: 'POST /organizations/invitations/acceptance body',
      list: 'GET /organizations/{organization_id}/invitations page',
      get: 'GET /organizations/{organization_id}/invitations/{invitation_id}',
      revoke: 'DELETE /organizations/{organization_id}/invitations/{invitation_id}',
      resend: 'POST /organizations/{organization_id}/invitations/{invitation_id}/resend',
      create: 'POST /organizations/{organization_id}/invite body',
      getSubscription: 'GET /organizations/invitations/unsubscribe query',
      unsubscribe: 'POST /organizations/invitations/unsubscribe body',
    },
    apiKeys: {
      list: 'GET /organizations/{organization_id}/api-keys page',
      create: 'POST /organizations/{organization_id}/api-keys body',
      get: 'GET /organizations/{organization_id}/api-keys/{api_key_id}',
      revoke: 'DELETE /organizations/{organization_id}/api-keys/{api_key_id}',
      rotate: 'POST /organizations/{organization_id}/api-keys/{api_key_id}/rotate body',
    },
    auditLog: {
      list: 'GET /organizations/{organization_id}/audit-log page',
      verifyIntegrity: 'GET /organizations/{organization_id}/audit-log/verify-integrity query',
      export: 'GET /organizations/{organization_id}/audit-log/export query text',
      get: 'GET /organizations/{organization_id}/audit-log/{entry_id}',
      getProof: 'GET /organizations/{organization_id}/audit-log/{entry_id}/proof query',
      getConsistencyProof: 'GET /organizations/{organization_id}/audit-log/consistency query',
      exports: {
        list: 'GET /organizations/{organization_id}/audit-log/export-async page',
        create: 'POST /organizations/{organization_id}/audit-log/export-async body',
        get: 'GET /organizations/{organization_id}/audit-log/export-async/{export_id}',
      },
      reconciliations: {
        list: 'GET /organizations/{organization_id}/audit-log/reconciliations page',
        create: 'POST /organizations/{organization_id}/audit-log/reconciliations',
        get: 'GET /organizations/{organization_id}/audit-log/reconciliations/{reconciliation_id}',
      },
    },
    events: {
      list: 'GET /organizations/{organization_id}/events page',
      create: 'POST /organizations/{organization_id}/events body',
      createBatch: 'POST /organizations/{organization_id}/events/batch body',
    },
    erasures: {
      list: 'GET /organizations/{organization_id}/erasures page',
      create: 'POST /organizations/{organization_id}/erasures body',
      get: 'GET /organizations/{organization_id}/erasures/{erasure_id}',
    },
    webhooks: {
      list: 'GET /organizations/{organization_id}/webhooks page',
      create: 'POST /organizations/{organization_id}/webhooks body',
      get: 'GET /organizations/{organization_id}/webhooks/{webhook_id}',
      update: 'PATCH /organizations/{organization_id}/webhooks/{webhook_id} body',
      delete: 'DELETE /organizations/{organization_id}/webhooks/{webhook_id}',
      test: 'POST /organizations/{organization_id}/webhooks/{webhook_id}/test',
      rotateSecret: 'POST /organizations/{organization_id}/webhooks/{webhook_id}/rotate-secret body',
      createLink: 'POST /organizations/{organization_id}/webhooks/{webhook_id}/links',
      getStatistics: 'GET /organizations/{organization_id}/webhooks/{webhook_id}/statistics',
      replay: 'POST /organizations/{organization_id}/webhooks/{webhook_id}/replay body',
      deliveries: {
        list: 'GET /organizations/{organization_id}/webhooks/{webhook_id}/deliveries page',
        get: 'GET /organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}',
        retry: 'POST /organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry',
      },
      replays: {
        list: 'GET /organizations/{organization_id}/webhooks/{webhook_id}/replays page',
        get: 'GET /organizations/{organization_id}/webhooks/{webhook_id}/replays/{replay_id}',
      },
    },
    logStreams: {
      list: 'GET /organizations/{organization_id}/log-streams page',
      create: 'POST /organizations/{organization_id}/log-streams body',
      get: 'GET /organizations/{organization_id}/log-streams/{log_stream_id}',
      update: 'PATCH /organizations/{organization_id}/log-streams/{log_stream_id} body',
      delete: 'DELETE /organizations/{organization_id}/log-streams/{log_stream_id}',
      rotateSecret: 'POST /organizations/{organization_id}/log-streams/{log_stream_id}/rotate-secret body',
      test: 'POST /organizations/{organization_id}/log-streams/{log_stream_id}/test',
    },
    integrationChannels: {
      list: 'GET /organizations/{organization_id}/integration-channels page',
      create: 'POST /organizations/{organization_id}/integration-channels body',
      get: 'GET /organizations/{organization_id}/integration-channels/{channel_id}',
      update: 'PATCH /organizations/{organization_id}/integration-channels/{channel_id} body',
      delete: 'DELETE /organizations/{organization_id}/integration-channels/{channel_id}',
      test: 'POST /organizations/{organization_id}/integration-channels/{channel_id}/test',
    },
    domains: {
      list: 'GET /organizations/{organization_id}/domains/inventory page',
    },
    sites: {
      list: 'GET /organizations/{organization_id}/sites page',
      create: 'POST /organizations/{organization_id}/sites body',
    },
  },
  me: {
    get: 'GET /me',
    invitations: {
      list: 'GET /me/invitations page',
      respond: 'POST /me/invitations/{invitation_id} body',
    },
  },
  anchors: {
    list: 'GET /anchors page',
  },
  system: {
    logVerifications: {
      list: 'GET /system/log-verifications page',
      create: 'POST /system/log-verifications',
      get: 'GET /system/log-verifications/{log_verification_id}',
    },
    migrations: {
      getHealth: 'GET /system/migrations/health',
      list: 'GET /system/migrations/status page',
    },
    auditLog: {
      list: 'GET /system/audit-log page',
      export: 'GET /system/audit-log/export query text',
    },
    deadLetters: {
      get: 'GET /system/dead-letters',
      redrive: 'POST /system/dead-letters/redrive body',
      redrives: {
        list: 'GET /system/dead-letters/redrive page',
        get: 'GET /system/dead-letters/redrive/{redrive_id}',
      },
    },
    organizations: {
      list: 'GET /system/organizations page',
    },
    serviceKeys: {
      list: 'GET /system/service-keys page',
      create: 'POST /system/service-keys body',
      get: 'GET /system/service-keys/{service_key_id}',
      revoke: 'DELETE /system/service-keys/{service_key_id}',
      rotate: 'POST /system/service-keys/{service_key_id}/rotate body',
    },
  },
  platforms: {
    list: 'GET /platforms page',
    create: 'POST /platforms body',
    get: 'GET /platforms/{platform_id}',
    update: 'PATCH /platforms/{platform_id} body',
    delete: 'DELETE /platforms/{platform_id}',
    updateHome: 'PATCH /platforms/{platform_id}/home body',
    updateNavigation: 'PATCH /platforms/{platform_id}/navigation body',
    publish: 'PATCH /platforms/{platform_id}/publish body',
    updateTheme: 'PATCH /platforms/{platform_id}/theme body',
    invite: 'POST /platforms/{platform_id}/invite body',
    join: 'POST /platforms/{platform_id}/join',
    leave: 'POST /platforms/{platform_id}/leave',
    getConfig: 'GET /platforms/{platform_id}/config',
    resolveConfig: 'POST /platforms/{platform_id}/resolve-config body',
    members: {
      list: 'GET /platforms/{platform_id}/members page',
      get: 'GET /platforms/{platform_id}/members/{user_id}',
      update: 'PATCH /platforms/{platform_id}/members/{user_id} body',
      remove: 'DELETE /platforms/{platform_id}/members/{user_id}',
      getByUser: 'GET /platforms/{platform_id}/members/by-user/{user_id}',
      getByUsername: 'GET /platforms/{platform_id}/members/by-username/{username}',
    },
    customDomain: {
      get: 'GET /platforms/{platform_id}/custom-domain',
      set: 'POST /platforms/{platform_id}/custom-domain body',
      remove: 'DELETE /platforms/{platform_id}/custom-domain',
      verify: 'POST /platforms/{platform_id}/custom-domain/verify',
      createLink: 'POST /platforms/{platform_id}/custom-domain/links',
    },
    modules: {
      list: 'GET /platforms/{platform_id}/modules page',
      update: 'PATCH /platforms/{platform_id}/modules body',
    },
    projectBlocks: {
      list: 'GET /platforms/{platform_id}/project-blocks page',
      update: 'PATCH /platforms/{platform_id}/project-blocks body',
    },
    spaces: {
      list: 'GET /platforms/{platform_id}/spaces page',
    },
    taxonomyNodes: {
      list: 'GET /platforms/{platform_id}/taxonomy-nodes page',
      resolve: 'GET /platforms/{platform_id}/taxonomy-resolve query',
      createSystemTags: 'POST /platforms/{platform_id}/taxonomy-system-tags body',
      getTree: 'GET /platforms/{platform_id}/taxonomy-tree query',
    },
    taxonomyAttachments: {
      list: 'GET /platforms/{platform_id}/taxonomy-attachments page',
    },
  },
  spaces: {
    create: 'POST /spaces body',
    get: 'GET /spaces/{space_id}',
    update: 'PATCH /spaces/{space_id} body',
    delete: 'DELETE /spaces/{space_id}',
    join: 'POST /spaces/{space_id}/join',
    leave: 'POST /spaces/{space_id}/leave',
    effectiveModules: {
      list: 'GET /spaces/{space_id}/effective-modules page',
    },
    moduleOverrides: {
      list: 'GET /spaces/{space_id}/module-overrides page',
      set: 'POST /spaces/{space_id}/module-overrides body',
      replace: 'PUT /spaces/{space_id}/module-overrides body',
      get: 'GET /spaces/{space_id}/module-overrides/{module_id}',
      remove: 'DELETE /spaces/{space_id}/module-overrides/{module_id}',
    },
    members: {
      list: 'GET /spaces/{space_id}/members page',
      get: 'GET /spaces/{space_id}/members/{user_id}',
      update: 'PATCH /spaces/{space_id}/members/{user_id} body',
      remove: 'DELETE /spaces/{space_id}/members/{user_id}',
    },
    capabilities: {
      list: 'GET /spaces/{space_id}/capabilities page',
      add: 'POST /spaces/{space_id}/capabilities body',
      replace: 'PUT /spaces/{space_id}/capabilities body',
      get: 'GET /spaces/{space_id}/capabilities/{capability_key}',
      remove: 'DELETE /spaces/{space_id}/capabilities/{capability_key}',
    },
  },
  projectBlocks: {
    platforms: {
      list: 'GET /project-blocks/{project_block_id}/platforms page',
    },
  },
  taxonomyNodes: {
    create: 'POST /taxonomy-nodes body',
    get: 'GET /taxonomy-nodes/{taxonomy_node_id}',
    update: 'PATCH /taxonomy-nodes/{taxonomy_node_id} body',
    delete: 'DELETE /taxonomy-nodes/{taxonomy_node_id} query',
    attachments: {
      list: 'GET /taxonomy-nodes/{taxonomy_node_id}/attachments page',
      create: 'POST /taxonomy-nodes/{taxonomy_node_id}/attachments body',
      get: 'GET /taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}',
      delete: 'DELETE /taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}',
    },
  },
  sites: {
    get: 'GET /sites/{site_id}',
    update: 'PATCH /sites/{site_id} body',
    delete: 'DELETE /sites/{site_id}',
    resolve: 'GET /sites/resolve query',
    getRobotsTxt: 'GET /sites/{site_id}/robots.txt text',
    getSitemap: 'GET /sites/{site_id}/sitemap.xml query text',
    pages: {
      list: 'GET /sites/{site_id}/pages page',
      create: 'POST /sites/{site_id}/pages body',
      get: 'GET /sites/{site_id}/pages/{page_id}',
      update: 'PATCH /sites/{site_id}/pages/{page_id} body',
      delete: 'DELETE /sites/{site_id}/pages/{page_id} query',
      publish: 'POST /sites/{site_id}/pages/{page_id}/publish body',
      getByPath: 'GET /sites/{site_id}/pages/by-path query',
      getHome: 'GET /sites/{site_id}/pages/home query',
      preview: 'GET /sites/{site_id}/pages/{page_id}/preview query',
      previewPublic: 'GET /sites/{site_id}/pages/{page_id}/preview-public query',
      revisions: {
        list: 'GET /sites/{site_id}/pages/{page_id}/revisions page',
        get: 'GET /sites/{site_id}/pages/{page_id}/revisions/{revision_id}',
        restore: 'POST /sites/{site_id}/pages/{page_id}/revisions/{revision_id}/restore',
      },
    },
    navigation: {
      list: 'GET /sites/{site_id}/navigation page',
      get: 'GET /sites/{site_id}/navigation/{navigation_id}',
      put: 'PUT /sites/{site_id}/navigation/{navigation_id} body',
    },
    redirects: {
      list: 'GET /sites/{site_id}/redirects page',
      create: 'POST /sites/{site_id}/redirects body',
      get: 'GET /sites/{site_id}/redirects/{redirect_id}',
      update: 'PATCH /sites/{site_id}/redirects/{redirect_id} body',
      delete: 'DELETE /sites/{site_id}/redirects/{redirect_id}',
    },
  },
  marketingLeads: {
    list: 'GET /marketing-leads page',
    create: 'POST /marketing-leads body',
    get: 'GET /marketing-leads/{lead_id}',
    changeStatus: 'PATCH /marketing-leads/{lead_id}/status body',
    statuses: {
      list: 'GET /marketing-leads/statuses page',
    },
  },
  public: {
    leads: {
      list: 'GET /public/leads page',
      create: 'POST /public/leads body',
      get: 'GET /public/leads/{lead_id}',
      changeStatus: 'PATCH /public/leads/{lead_id}/status body',
      statuses: {
        list: 'GET /public/leads/statuses page',
      },
    },
  },
  research: {
    backfill: 'POST /research/backfill/{venue_edition}',
    import: 'POST /research/import body',
    reconcile: 'POST /research/reconcile body',
    artefacts: {
      list: 'GET /research/artefacts page',
      get: 'GET /research/artefacts/{artefact_id}',
    },
    jobs: {
      list: 'GET /research/jobs page',
      get: 'GET /research/jobs/{job_id}',
    },
    outputs: {
      list: 'GET /research/outputs page',
      get: 'GET /research/outputs/{output_id}',
    },
    venues: {
      list: 'GET /research/venues page',
    },
  },
  reference: {
    countries: {
      list: 'GET /reference/countries page',
      get: 'GET /reference/countries/{country_id}',
    },
    currencies: {
      list: 'GET /reference/currencies page',
      get: 'GET /reference/currencies/{currency_id}',
    },
    languages: {
      list: 'GET /reference/languages page',
      get: 'GET /reference/languages/{language_id}',
    },
    timezones: {
      list: 'GET /reference/timezones page',
      get: 'GET /reference/timezones/{timezone_id} query',
    },
    cities: {
      list: 'GET /reference/cities page',
      get: 'GET /reference/cities/{city_id}',
    },
  },
  status: {
    get: 'GET /status',
  },
  eventTypes: {
    get: 'GET /event-types/{event_type} query',
    put: 'PUT /event-types/{event_type} body',
    list: 'GET /event-types page',
  },
  signedLink: {
    get: 'GET /signed-link',
  },
  documentation: {
    getLinks: 'GET /',
    getOpenapiDocument: 'GET /openapi.json',
    get: 'GET /docs text',
    getAsset: 'GET /docs/{asset} query text',
    getLlmsText: 'GET /llms.txt text',
  },
  console: {
    get: 'GET /console text',
    getAsset: 'GET /console/{asset} text',
    getInvitationPage: 'GET /invitation query text',
    getDomainSetupPage: 'GET /domain-setup text',
    getWebhookPortalPage: 'GET /webhook-portal text',
  },
};
