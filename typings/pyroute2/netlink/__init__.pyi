NLA_F_NESTED: int

class nla:
    nla_map: tuple[tuple[str, str], ...]
    fields: tuple[tuple[str, str], ...]
