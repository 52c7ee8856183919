"""Shapes of keys for clouds, hosting, infrastructure and databases (sources: shapes_models)."""

from __future__ import annotations

from runner.secrets.shape import Shape

_SERVICE_ACCOUNT = r'"private_key_id"\s*:\s*"(?P<value>[0-9a-f]{40})"'

SHAPES = (
    Shape(
        "aws-id",
        "AWS access key id",
        "AWS_ACCESS_KEY_ID",
        ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
        r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16,}",
    ),
    Shape(
        "aws-secret",
        "AWS secret access key",
        "AWS_SECRET_ACCESS_KEY",
        ("secret",),
        r"(?i)(?:aws[^\n]{0,30}secret|secret_?access_?key|secretaccesskey|aws_?secret)"
        r"[^\n]{0,30}?[^A-Za-z0-9/+\n](?P<value>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)",
        random=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "aws-session",
        "AWS session token",
        "AWS_SESSION_TOKEN",
        ("IQoJb3JpZ2lu", "FwoGZXIv"),
        r"(?:IQoJb3JpZ2lu|FwoGZXIv)[A-Za-z0-9+/]{80,}={0,2}",
    ),
    Shape(
        "google-oauth-secret",
        "Google OAuth client secret",
        "GOOGLE_CLIENT_SECRET",
        ("GOCSPX-",),
        r"GOCSPX-[A-Za-z0-9_-]{20,}",
    ),
    Shape(
        "google-oauth",
        "Google OAuth access token",
        "GOOGLE_OAUTH_ACCESS_TOKEN",
        ("ya29.",),
        r"\bya29\.[A-Za-z0-9_.-]{20,}",
    ),
    Shape(
        "google-refresh",
        "Google OAuth refresh token",
        "GOOGLE_REFRESH_TOKEN",
        ("1//0",),
        r"\b1//0[A-Za-z0-9_-]{40,}",
    ),
    Shape(
        "google-service-account",
        "Google service account key",
        "GOOGLE_APPLICATION_CREDENTIALS",
        ("private_key_id",),
        _SERVICE_ACCOUNT,
    ),
    Shape(
        "azure-ad",
        "Azure AD client secret",
        "AZURE_CLIENT_SECRET",
        ("Q~",),
        r"(?:^|[^A-Za-z0-9_~.-])(?P<value>[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})"
        r"(?:[^A-Za-z0-9_~.-]|\z)",
    ),
    Shape(
        "azure-storage",
        "Azure storage account key",
        "AZURE_STORAGE_KEY",
        ("AccountKey", "SharedAccessKey"),
        r"(?:AccountKey|SharedAccessKey)\s*=\s*(?P<value>[A-Za-z0-9+/]{40,}={0,2})",
    ),
    Shape(
        "azure-sas",
        "Azure shared access signature",
        "AZURE_STORAGE_SAS_TOKEN",
        ("sig=",),
        r"[?&;]sig=(?P<value>[A-Za-z0-9%+/]{40,}(?:%3[dD]|=)?)",
    ),
    Shape(
        "azure-functions",
        "Azure service key",
        "AZURE_API_KEY",
        ("AzFu", "AzSe", "JQQJ99"),
        r"[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{6}[AQgw]==|[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}"
        r"|\b[A-Za-z0-9]{50,56}JQQJ99[A-Za-z0-9]{10,}",
    ),
    Shape(
        "alibaba",
        "Alibaba Cloud access key id",
        "ALIBABA_CLOUD_ACCESS_KEY_ID",
        ("LTAI",),
        r"\bLTAI[A-Za-z0-9]{12,30}\b",
    ),
    Shape(
        "tencent",
        "Tencent Cloud secret id",
        "TENCENTCLOUD_SECRET_ID",
        ("AKID",),
        r"\bAKID[A-Za-z0-9]{32,}\b",
    ),
    Shape(
        "yandex",
        "Yandex Cloud key",
        "YC_TOKEN",
        ("AQVN", "YCAJE", "YCM"),
        r"\b(?:AQVN[A-Za-z0-9_-]{35,38}|YCAJE[A-Za-z0-9_-]{20}|YCM[A-Za-z0-9_-]{37})\b",
    ),
    Shape(
        "digitalocean",
        "DigitalOcean token",
        "DIGITALOCEAN_TOKEN",
        ("_v1_",),
        r"\bdo[opr]_v1_[0-9a-f]{64,}",
    ),
    Shape(
        "cloudflare",
        "Cloudflare API token",
        "CLOUDFLARE_API_TOKEN",
        ("cfut_", "cfat_", "cfk_"),
        r"\bcf(?:ut|at|k)_[A-Za-z0-9_-]{36,}",
    ),
    Shape(
        "cloudflare-ca",
        "Cloudflare origin CA key",
        "CLOUDFLARE_API_USER_SERVICE_KEY",
        ("v1.0-",),
        r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{146,}",
    ),
    Shape("heroku", "Heroku API key", "HEROKU_API_KEY", ("HRKU-",), r"\bHRKU-[A-Za-z0-9_-]{36,}"),
    Shape(
        "fly",
        "Fly.io token",
        "FLY_API_TOKEN",
        ("fo1_", "fm1", "fm2_"),
        r"\b(?:fo1_[A-Za-z0-9_-]{40,}|fm(?:1[ar]|2)_[A-Za-z0-9+/]{60,}={0,3})",
    ),
    Shape("vercel", "Vercel token", "VERCEL_TOKEN", ("vc",), r"\bvc[piark]_[A-Za-z0-9]{24,}"),
    Shape(
        "netlify", "Netlify token", "NETLIFY_AUTH_TOKEN", ("nf",), r"\bnf[pcoub]_[A-Za-z0-9_]{36,}"
    ),
    Shape("render", "Render API key", "RENDER_API_KEY", ("rnd_",), r"\brnd_[A-Za-z0-9]{28,}"),
    Shape(
        "supabase",
        "Supabase secret",
        "SUPABASE_SECRET_KEY",
        ("sbp_", "sb_secret_"),
        r"\bsbp_(?:v0_|oauth_)?[0-9a-f]{40,}|\bsb_secret_[A-Za-z0-9_-]{20,}",
    ),
    Shape("neon", "Neon API key", "NEON_API_KEY", ("napi_",), r"\bnapi_[a-z0-9]{40,}"),
    Shape(
        "planetscale",
        "PlanetScale credential",
        "PLANETSCALE_TOKEN",
        ("pscale_",),
        r"\bpscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,}",
    ),
    Shape(
        "databricks",
        "Databricks token",
        "DATABRICKS_TOKEN",
        ("dapi", "dose"),
        r"\b(?:dapi|dose)[0-9a-f]{32}(?:-[0-9])?\b",
    ),
    Shape(
        "vault",
        "HashiCorp Vault token",
        "VAULT_TOKEN",
        ("hvs.", "hvb.", "hvr."),
        r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}",
    ),
    Shape(
        "terraform",
        "Terraform Cloud token",
        "TF_TOKEN_app_terraform_io",
        (".atlasv1.",),
        r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
    ),
    Shape(
        "pulumi", "Pulumi access token", "PULUMI_ACCESS_TOKEN", ("pul-",), r"\bpul-[0-9a-f]{40,}"
    ),
    Shape(
        "doppler",
        "Doppler token",
        "DOPPLER_TOKEN",
        ("dp.",),
        r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]+\.)?[A-Za-z0-9]{40,}",
    ),
    Shape(
        "onepassword",
        "1Password service account token",
        "OP_SERVICE_ACCOUNT_TOKEN",
        ("ops_eyJ",),
        r"\bops_eyJ[A-Za-z0-9+/_-]{100,}={0,3}",
    ),
    Shape(
        "age",
        "age secret key",
        "SOPS_AGE_KEY",
        ("AGE-SECRET-KEY-",),
        r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}",
    ),
    Shape(
        "tailscale",
        "Tailscale key",
        "TS_AUTHKEY",
        ("tskey-",),
        r"\btskey-[a-z]+-[A-Za-z0-9]+-?[A-Za-z0-9]{20,}",
    ),
    Shape(
        "scaleway",
        "Scaleway access key",
        "SCW_ACCESS_KEY",
        ("SCW",),
        r"\bSCW[A-Z0-9]{17}\b",
        random=True,
    ),
    Shape(
        "dynatrace",
        "Dynatrace token",
        "DT_API_TOKEN",
        ("dt0",),
        r"\bdt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{60,}",
    ),
)
