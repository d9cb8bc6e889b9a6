// A real issuer of OpenID Connect on the loopback, for test_sso.py: says its address, then serves until its input ends.
// The account is whatever name is typed. One client is public, one has a secret and gets ES256.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

function key(type, options, kid, alg) {
  const pair = generateKeyPairSync(type, options);
  return { ...pair.privateKey.export({ format: "jwk" }), kid, alg, use: "sig" };
}

const device = {
  grant_types: ["urn:ietf:params:oauth:grant-type:device_code"],
  response_types: [],
  redirect_uris: [],
};
const configuration = {
  clients: [
    { ...device, client_id: "paddle", token_endpoint_auth_method: "none" },
    {
      ...device,
      client_id: "paddle-secret",
      client_secret: "s/e:c r%t",
      token_endpoint_auth_method: "client_secret_basic",
      id_token_signed_response_alg: "ES256",
    },
  ],
  jwks: { keys: [key("rsa", { modulusLength: 2048 }, "r", "RS256"), key("ec", { namedCurve: "P-256" }, "e", "ES256")] },
  cookies: { keys: ["not a secret"] },
  conformIdTokenClaims: false,
  claims: { openid: ["sub"], profile: ["preferred_username"], email: ["email", "email_verified"] },
  features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
  findAccount: (context, id) => ({
    accountId: id,
    claims: () => ({
      sub: `subject of ${id}`,
      preferred_username: id,
      email: `${id}@example.com`,
      email_verified: !id.startsWith("unverified"),
    }),
  }),
};

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.on("request", new Provider(issuer, configuration).callback());
  console.log(issuer);
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
