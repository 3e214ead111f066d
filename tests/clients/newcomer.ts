// The program of somebody who generated a client with openapi-typescript. A test only compiles it.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

const client = createClient<paths>({ baseUrl: "https://api.example.com", headers: { Authorization: "Bearer …" } });

export async function invite(organizationId: string, email: string): Promise<string | null> {
  const { data, error } = await client.POST("/organizations/{organization_id}/invite", {
    params: { path: { organization_id: organizationId } },
    body: { email, role: "member" },
  });
  if (error) throw new Error(error.detail);
  return data.acceptUrl;
}

export async function accept(token: string): Promise<components["schemas"]["Acceptance"]["status"]> {
  const { data, error } = await client.POST("/organizations/invitations/acceptance", { body: { token } });
  if (error) throw new Error(error.detail);
  return data.status;
}

export async function decline(token: string): Promise<void> {
  await client.POST("/organizations/invitations/acceptance", { body: { token, decision: "decline" } });
}

function textOf(block: components["schemas"]["Block"]): string {
  switch (block.type) {
    case "heading":
      return `${"#".repeat(block.level)} ${block.text}`;
    case "text":
    case "quote":
    case "code":
      return block.text;
    case "list":
      return block.items.join("\n");
    case "image":
      return block.alt;
    case "columns":
      return block.columns.flat().map(textOf).join("\n");
    case "button":
      return block.label;
    case "embed":
      return block.url;
    case "divider":
    case "custom":
      return "";
  }
}

export async function readHomePage(siteId: string): Promise<string> {
  const { data, error } = await client.GET("/sites/{site_id}/pages/home", {
    params: { path: { site_id: siteId } },
  });
  if (error) throw new Error(error.detail);
  return [data.title, ...data.blocks.map(textOf)].join("\n");
}
