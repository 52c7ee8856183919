"""Shapes of keys for model and machine-learning services.

Sources: the vendors' own documentation and secret-scanning partner pages; where several public
scanners (gitleaks, trufflehog, CredSweeper) agree on a shape, the wider one is taken. A length
is a lower bound: vendors lengthen their keys, and the whole token has to be redacted.
"""

from __future__ import annotations

from runner.secrets.shape import Shape

SHAPES = (
    Shape(
        "anthropic",
        "Anthropic API key",
        "ANTHROPIC_API_KEY",
        ("sk-ant-",),
        r"sk-ant-[A-Za-z0-9_-]{40,}",
    ),
    Shape(
        "openrouter",
        "OpenRouter API key",
        "OPENROUTER_API_KEY",
        ("sk-or-",),
        r"sk-or-v[0-9]-[A-Za-z0-9_-]{40,}",
    ),
    Shape(
        "langfuse",
        "Langfuse secret key",
        "LANGFUSE_SECRET_KEY",
        ("sk-lf-",),
        r"sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Shape(
        "openai",
        "OpenAI API key",
        "OPENAI_API_KEY",
        ("sk-proj-", "sk-svcacct-", "sk-service-", "sk-admin-", "T3BlbkFJ"),
        r"(?:\b|_)(?P<value>sk-(?:(?:proj|svcacct|service|admin)-[A-Za-z0-9_-]{20,}"
        r"|[A-Za-z0-9_-]{10,}T3BlbkFJ[A-Za-z0-9_-]{10,}))",
        hint=r"sk-(?:proj|svcacct|service|admin)-|T3BlbkFJ",
    ),
    # DeepSeek, Moonshot, Stability, LiteLLM and OpenAI's first keys share this one.
    Shape(
        "sk-key",
        "API key of the form sk-…",
        "API_KEY",
        ("sk-",),
        r"(?:\b|_)(?P<value>sk-[A-Za-z0-9]{32,})",
        hint=r"sk-[A-Za-z0-9]{16}",
    ),
    Shape(
        "groq",
        "Groq API key",
        "GROQ_API_KEY",
        ("gsk_",),
        r"(?:\b|_)(?P<value>gsk_[A-Za-z0-9]{40,})",
        hint=r"gsk_[A-Za-z0-9]{8}",
    ),
    Shape(
        "xai",
        "xAI API key",
        "XAI_API_KEY",
        ("xai-",),
        r"\bxai-[A-Za-z0-9_-]{60,}",
        hint=r"\bxai-[A-Za-z0-9_-]{16}",
    ),
    Shape(
        "perplexity",
        "Perplexity API key",
        "PERPLEXITY_API_KEY",
        ("pplx-",),
        r"pplx-[A-Za-z0-9]{40,}",
    ),
    Shape(
        "replicate",
        "Replicate API token",
        "REPLICATE_API_TOKEN",
        ("r8_",),
        r"\br8_[A-Za-z0-9]{36,}",
        hint=r"\br8_[A-Za-z0-9]{8}",
    ),
    Shape(
        "huggingface",
        "Hugging Face token",
        "HF_TOKEN",
        ("hf_", "api_org_"),
        r"\b(?:hf_|api_org_)[A-Za-z0-9]{30,}",
        unlike_words=True,
        hint=r"\b(?:hf_|api_org_)[A-Za-z0-9]{8}",
    ),
    Shape(
        "langsmith",
        "LangSmith API key",
        "LANGSMITH_API_KEY",
        ("lsv2_",),
        r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10,}",
    ),
    Shape("nvidia", "NVIDIA API key", "NVIDIA_API_KEY", ("nvapi-",), r"nvapi-[A-Za-z0-9_-]{60,}"),
    Shape(
        "cerebras",
        "Cerebras API key",
        "CEREBRAS_API_KEY",
        ("csk-",),
        r"\bcsk-[a-z0-9]{40,}",
        hint=r"\bcsk-[a-z0-9]{16}",
    ),
    Shape(
        "fireworks",
        "Fireworks AI API key",
        "FIREWORKS_API_KEY",
        ("fw_",),
        r"\bfw_[A-Za-z0-9]{22,}\b",
        random=True,
        hint=r"\bfw_[A-Za-z0-9]{16}",
    ),
    Shape(
        "pinecone",
        "Pinecone API key",
        "PINECONE_API_KEY",
        ("pcsk_",),
        r"pcsk_[A-Za-z0-9]{5,}_[A-Za-z0-9]{40,}",
    ),
    Shape(
        "tavily",
        "Tavily API key",
        "TAVILY_API_KEY",
        ("tvly-",),
        r"tvly-(?:dev-|prod-)?[A-Za-z0-9_-]{30,}",
    ),
    Shape(
        "elevenlabs",
        "ElevenLabs API key",
        "ELEVENLABS_API_KEY",
        ("sk_",),
        r"\bsk_[0-9a-f]{48}\b",
        hint=r"\bsk_[0-9a-f]{12}",
    ),
    Shape(
        "wandb",
        "Weights & Biases API key",
        "WANDB_API_KEY",
        ("wandb_v1_",),
        r"wandb_v1_[A-Za-z0-9_-]{40,}",
    ),
    Shape(
        "google-api",
        "Google API key",
        "GOOGLE_API_KEY",
        ("AIza",),
        r"\b(?P<value>AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9]|\z)",
        hint=r"\bAIza[A-Za-z0-9_-]{8}",
    ),
    Shape(
        "bedrock",
        "Amazon Bedrock API key",
        "AWS_BEARER_TOKEN_BEDROCK",
        ("ABSK", "bedrock-api-key-"),
        r"\bABSK[A-Za-z0-9+/]{100,}={0,2}|bedrock-api-key-[A-Za-z0-9+/]{32,}={0,2}",
        hint=r"\bABSK[A-Za-z0-9+/]{12}|bedrock-api-key-",
    ),
)
